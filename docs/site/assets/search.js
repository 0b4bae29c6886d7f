/** Finds sections of the documentation by their words, in an index that came with the site: no other server is asked. */
import MiniSearch from './minisearch.js'

const field = document.getElementById('search')
const list = document.getElementById('found')
const up = document.querySelector('script[data-up]').dataset.up
const SHOWN = 12

/** Read at the first key, because most pages are only read. */
let index
const openIndex = () =>
  (index ??= fetch(new URL(`${up}search.json`, location.href))
    .then((answer) => {
      if (!answer.ok) throw new Error(`the index answers ${answer.status}`)
      return answer.text()
    })
    .then((text) => MiniSearch.loadJSON(text, { fields: ['title', 'text'], storeFields: ['title', 'page', 'href'] }))
    .catch((error) => {
      index = undefined
      throw error
    }))

let chosen = -1
function choose(next) {
  const items = [...list.children]
  chosen = items.length === 0 ? -1 : (next + items.length) % items.length
  items.forEach((item, at) => item.setAttribute('aria-selected', String(at === chosen)))
  items[chosen]?.scrollIntoView({ block: 'nearest' })
}

function show(results) {
  list.replaceChildren(
    ...results.slice(0, SHOWN).map(({ title, page, href }) => {
      const item = document.createElement('li')
      item.setAttribute('role', 'option')
      const link = document.createElement('a')
      link.href = up + href
      link.textContent = title
      const from = document.createElement('small')
      from.textContent = page
      link.append(from)
      item.append(link)
      return item
    }),
  )
  list.hidden = field.value === ''
  if (!list.hidden && results.length === 0)
    list.append(Object.assign(document.createElement('li'), { textContent: 'Not found.', role: 'option' }))
  field.setAttribute('aria-expanded', String(!list.hidden))
  choose(0)
}

field.addEventListener('input', async () => {
  const words = field.value
  const found =
    words === '' ? [] : (await openIndex()).search(words, { prefix: true, fuzzy: 0.15, combineWith: 'AND', boost: { title: 3 } })
  if (field.value === words) show(found)
})
field.addEventListener('keydown', (event) => {
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    event.preventDefault()
    choose(chosen + (event.key === 'ArrowDown' ? 1 : -1))
  } else if (event.key === 'Enter') list.children[chosen]?.querySelector('a')?.click()
  else if (event.key === 'Escape') {
    field.value = ''
    show([])
  }
})
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target instanceof HTMLInputElement) return
  event.preventDefault()
  field.focus()
})
