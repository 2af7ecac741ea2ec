// Records each file of the program that a process loads, a line each, in the file that RECORD_LOADS names.
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

registerHooks({
  load(url, context, next) {
    const [, file] = /\/dist\/program\/([^/]+)$/.exec(url) ?? []
    if (file !== undefined) appendFileSync(process.env['RECORD_LOADS'], `${file}\n`)
    return next(url, context)
  },
})
