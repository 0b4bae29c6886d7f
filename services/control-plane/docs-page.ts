/** `/docs`: the operations as a plain HTML page, from the same contracts as `/openapi.json`. No scripts, no assets. */
import type { Contract } from '../../shared/api/operation.ts'

const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

export function docsPage(contracts: readonly Contract[]): string {
  const rows = contracts.map(
    ({ method, path, summary, scope, alsoScopes = [], isPublic, tag }) =>
      `<tr><td>${tag}</td><td><code>${method}</code></td><td><code>/api/v1${escape(path.replaceAll(/:(\w+)/g, '{$1}'))}</code></td><td>${escape(summary)}</td><td>${isPublic ? 'no token' : [scope ?? 'any', ...alsoScopes].join(', ')}</td></tr>`,
  )
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Data Pipeline Service API</title>
<style>body{font:16px/1.5 system-ui;margin:2rem auto;max-width:70rem;padding:0 1rem}table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #ccc;padding:.4rem;text-align:left}</style>
<h1>Data Pipeline Service API</h1><p>Every path also works under <code>/v1</code>. The machine-readable form is <a href="/openapi.json">/openapi.json</a>.</p>
<table><tr><th>Resource</th><th>Method</th><th>Path</th><th>What it does</th><th>Scope</th></tr>${rows.join('')}</table></html>`
}
