/**
 * The script of the page: it searches while the reader types, follows the catalog, and copies texts. All content of the
 * page works without it. It takes only elements that this server wrote from a page, and runs nothing of them.
 */
export const SCRIPT = `(() => {
'use strict'
const root = new URL(document.documentElement.dataset.root, location.href)
const find = (text, from = document) => from.querySelector(text)

// One question at a time: the answer to an earlier one is of no use.
let asking
const show = async (url, tells) => {
  asking?.abort()
  const mine = (asking = new AbortController())
  try {
    const answer = await fetch(url, { signal: mine.signal, headers: { accept: 'text/html' } })
    // Signed out, or gone: the page says so itself.
    if (answer.status === 401 || answer.status === 404) return location.reload()
    if (!answer.ok) return setTimeout(() => mine === asking && show(url, tells), 5000)
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    if (mine !== asking) return undefined
    put(page, tells)
  } catch (error) {
    if (error.name !== 'AbortError') return undefined
  }
}

const put = (page, tells) => {
  const focused = document.activeElement?.id
  const opened = [...document.querySelectorAll('details[open][id]')].map(({ id }) => id)
  for (const part of document.querySelectorAll('[data-live]')) {
    const next = page.getElementById(part.id)
    if (next === null || next.innerHTML === part.innerHTML) continue
    part.replaceChildren(...next.childNodes)
    part.classList.remove('fresh')
    if (tells) requestAnimationFrame(() => part.classList.add('fresh'))
  }
  for (const id of opened) document.getElementById(id)?.setAttribute('open', '')
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({ preventScroll: true })
  document.documentElement.dataset.catalog = page.documentElement.dataset.catalog
  addCopying()
  const generation = find('#generation')?.textContent
  const told = generation === undefined ? 'Updated' : 'Updated: generation ' + generation
  const said = tells ? told : find('#count')?.textContent
  if (said) find('#heard').textContent = said
}

// The filters stand outside of the form; a page without a list leaves the search to the browser.
const form = find('#find[data-list]')
if (form !== null) {
  let soon
  const search = () => {
    const url = new URL(form.action)
    for (const [name, value] of new FormData(form)) if (value !== '') url.searchParams.set(name, value)
    history.replaceState(null, '', url)
    void show(url, false)
  }
  document.addEventListener('input', ({ target }) => {
    if (target.form !== form) return
    clearTimeout(soon)
    soon = setTimeout(search, 150)
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    clearTimeout(soon)
    search()
  })
}

const addCopying = () => {
  for (const snippet of document.querySelectorAll('.snippet')) {
    if (!navigator.clipboard || find('.copy', snippet) !== null) continue
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    if (snippet.dataset.what) button.setAttribute('aria-label', 'Copy ' + snippet.dataset.what)
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(find('pre', snippet).textContent)
      button.textContent = 'Copied'
      find('#heard').textContent = 'Copied'
      setTimeout(() => (button.textContent = 'Copy'), 2000)
    })
    find('div', snippet).append(button)
  }
}
addCopying()

// A stream while the page is visible: a browser has six connections for all of its tabs.
let events
let again
const close = () => {
  clearTimeout(again)
  events?.close()
  events = undefined
}
const follow = () => {
  close()
  if (document.hidden || document.documentElement.dataset.live === undefined) return
  events = new EventSource(new URL('events', root))
  events.addEventListener('message', ({ data }) => {
    if (JSON.parse(data).catalog !== document.documentElement.dataset.catalog) void show(location.href, true)
  })
  events.addEventListener('error', () => {
    // The browser comes back by itself, but for an answer that is no stream.
    if (events?.readyState !== EventSource.CLOSED) return
    close()
    void show(location.href, true)
    again = setTimeout(follow, 30000)
  })
}
document.addEventListener('visibilitychange', follow)
addEventListener('pagehide', close)
addEventListener('pageshow', follow)
})()
`
