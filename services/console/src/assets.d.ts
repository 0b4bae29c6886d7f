/** What Vite turns imports of other kinds of files into. */
declare module '*.css'
declare module '*.svg' {
  const url: string
  export default url
}
declare module 'virtual:sdk-words' {
  type Word = { label: string; type: string; detail: string; info: string }
  export const sdk: { exports: Word[]; members: Record<string, Word[]> }
}
