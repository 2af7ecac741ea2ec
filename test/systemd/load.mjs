import { once } from 'node:events'
import { get } from 'node:http'
import { text } from 'node:stream/consumers'

// Asks for an address again and again, each time on a connection of its own, several at once. Says on stderr how many answers
// there were, after every hundred, and on stdout what went wrong, when its input ends.

const [, , url] = process.argv
const over = new AbortController()
const wrong = {}
let answered = 0

process.stdin.resume().on('end', () => over.abort())
await Promise.all(Array.from({ length: 16 }, askOn))
process.stdout.write(`${JSON.stringify({ answered, wrong })}\n`)

async function askOn() {
  while (!over.signal.aborted) {
    const fault = await ask()
    if (fault !== undefined) wrong[fault] = (wrong[fault] ?? 0) + 1
    else answered += 1
    if (fault === undefined && answered % 100 === 0) process.stderr.write(`answered ${answered}\n`)
  }
}

async function ask() {
  try {
    const [response] = await once(get(url, { agent: false }), 'response')
    const body = await text(response)
    return response.statusCode === 200 && body.includes('"alpha"') ? undefined : `status ${response.statusCode}`
  } catch (error) {
    return error.code
  }
}
