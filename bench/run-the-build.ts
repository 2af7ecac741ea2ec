import { registerHooks } from 'node:module'

const SRC = new URL('../src/', import.meta.url).href
const DIST = new URL('../dist/', import.meta.url).href

// What is measured is the built program: what is imported from src, after this, is taken from dist. A static import in the
// same file would be resolved before, so those who import this import src by `await import(…)`.
registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context)
    if (!resolved.url.startsWith(SRC)) return resolved
    const url = DIST + resolved.url.slice(SRC.length).replace(/\.ts$/, '.js')
    return { ...resolved, url, format: 'module' }
  },
})
