/** Builds the console: relative addresses, so that it works below any path; no inline scripts or styles, which its CSP refuses. */
import { defineConfig, type Plugin } from 'vite'
import { sdkWords } from './sdk-words.ts'

/** `virtual:sdk-words`: what the editor completes. */
const SDK_WORDS: Plugin = {
  name: 'sdk-words',
  resolveId: (id) => (id === 'virtual:sdk-words' ? id : undefined),
  load: (id) => (id === 'virtual:sdk-words' ? `export const sdk = ${JSON.stringify(sdkWords())}` : undefined),
}

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  plugins: [SDK_WORDS],
  // Without `development: false` the size would depend on NODE_ENV, which tests set: each element would bring its file's name.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    // What several screens use is one file, and so are the small screens: a small file by itself is hardly compressed.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'shared', test: /console.src/, minShareCount: 2 },
            { name: 'lists', test: /screens.(?:access|audit|connect|jobs|lineage|smartmodules|streams)\.tsx/ },
          ],
        },
      },
    },
  },
})
