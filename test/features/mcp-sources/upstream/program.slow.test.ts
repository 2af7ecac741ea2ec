import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { NEVER, connect, node, program } from './servers.ts'

const PROGRAM = fileURLToPath(new URL('../../../support/clients/mcp-program.mjs', import.meta.url))
const SKILL = 'skill://a/SKILL.md'

test.each(['modern', 'legacy'])('a %s program of the SDK is asked, and a file of 16 MiB comes whole', async (era) => {
  await using connection = await connect(node([PROGRAM, era]))

  const listed = await connection.request('resources/list', {}, NEVER)
  const read: any = await connection.request('resources/read', { uri: SKILL }, NEVER)

  expect(connection.greeting.era).toBe(era)
  expect(listed).toMatchObject({ ok: true, result: { resources: [{ uri: SKILL }] } })
  expect(Buffer.from(read.result.contents[0].blob, 'base64')).toHaveLength(2 ** 24)
})

test.each(['modern', 'legacy'])('a %s program of the SDK is watched', async (era) => {
  await using connection = await connect(node([PROGRAM, era]))

  const watch = await connection.watch({ list: true, uris: [SKILL] }, () => {}, NEVER)

  expect(watch.honoured).toEqual({ list: true, uris: [SKILL] })
  await watch[Symbol.asyncDispose]()
  await watch.ended
})

test('what a program tells by itself is heard', async () => {
  await using connection = await connect(node([PROGRAM, 'legacy']))
  const heard = Promise.withResolvers<unknown>()
  await using _ = await connection.watch({ list: false, uris: [SKILL] }, heard.resolve, NEVER)

  await connection.request('resources/list', {}, NEVER)

  expect(await heard.promise).toEqual({ kind: 'updated', uri: SKILL })
})

test.each([
  ['an error of -32602', "message.method === 'initialize' ? greet(message) : error(message, -32602)"],
  ['an error of -32601', "message.method === 'initialize' ? greet(message) : error(message, -32601)"],
  ['its end', "message.method === 'initialize' ? greet(message) : process.exit(3)"],
  [
    'silence, and to all that follows',
    "if (message.method === 'initialize') greet(message); else setInterval(() => {}, 1e6), process.stdin.pause()",
  ],
])('a program that answers server/discover with %s is opened in the older way', async (_, code) => {
  await using connection = await connect(program(code), { connectMs: 2_000 })

  expect(connection.greeting).toMatchObject({ era: 'legacy', version: '2025-11-25' })
})

test('the connection to a program that says nothing any more is lost with the third request, and any word of it counts', async () => {
  const code = `if (message.method === 'initialize') greet(message)
    else if (message.method === 'x/answered') result(message, {})`
  await using connection = await connect(program(LATER + code))
  let isLost = false
  const ended = connection.ended.then(() => (isLost = true))
  const silence = (): Promise<unknown> => connection.request('x/silent', {}, NEVER, 50).catch(() => {})

  for (const _ of [1, 2]) await silence()
  await connection.request('x/answered', {}, NEVER)
  for (const _ of [1, 2]) await silence()
  const before = isLost
  await silence()

  await ended
  expect(before).toBe(false)
})

test('requests that wait at the same time are one silence, and one that is given up while others are answered is none', async () => {
  const code = `if (message.method === 'initialize') greet(message)
    else if (message.method === 'x/answered') result(message, {})`
  await using connection = await connect(program(LATER + code))
  const silence = (): Promise<unknown> => connection.request('x/silent', {}, NEVER, 50).catch(() => {})

  await Promise.all([1, 2, 3, 4].map(silence))
  const waiting = silence()
  await connection.request('x/answered', {}, NEVER)
  await waiting
  for (const _ of [1, 2]) await silence()

  await expect(connection.request('x/answered', {}, NEVER)).resolves.toMatchObject({ ok: true })
})

test('a program that reads nothing is sent no more than a mebibyte', async () => {
  const code = "if (message.method === 'initialize') greet(message); else process.stdin.pause()"
  await using connection = await connect(program(LATER + code))
  const uri = `skill://${'x'.repeat(2 ** 20)}`
  // Whatever comes of the first is not awaited.
  connection.request('resources/read', { uri }, NEVER).catch(() => {})
  connection.request('resources/read', { uri }, NEVER).catch(() => {})

  const refused = connection.request('resources/read', { uri: SKILL }, NEVER)

  await expect(refused).rejects.toThrow('the program does not read what it is sent')
})

test('a program that offers another modern version is refused by name, and not started again', async () => {
  const data = '{ supported: ["2027-01-01"] }'
  const code = `if (message.method === 'initialize') greet(message)
    else say({ id: message.id, error: { code: -32022, message: 'no', data: ${data} } })`

  await expect(connect(program(code))).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('2027-01-01'),
  })
})

test('a program has PATH, HOME and what it was given in its environment, and nothing else', async () => {
  process.env['SKILLSYNCD_TEST_SECRET'] = 'hidden'
  const code =
    'message.method === "initialize" ? greet(message) : result(message, { env: process.env, at: process.cwd() })'

  await using connection = await connect(program(LATER + code, { TOKEN: 'given' }))
  const reply = await connection.request('x/y', {}, NEVER)

  expect(reply).toEqual({ ok: true, result: { env: { PATH: '/bin', HOME: '/home/of', TOKEN: 'given' }, at: '/' } })
})

test('an answer over the cap fails alone, wherever its id stands', async () => {
  const long = "{ text: 'x'.repeat(200_000) }"
  const code = `if (message.method === 'initialize') greet(message)
    else if (message.method === 'x/first') process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: ${long} }) + '\\n')
    else if (message.method === 'x/last') process.stdout.write(JSON.stringify({ result: ${long}, jsonrpc: '2.0', id: message.id }) + '\\n')
    else result(message, {})`
  await using connection = await connect(program(LATER + code), { answerBytes: 100_000 })

  const asked = ['x/first', 'x/short', 'x/last', 'x/short'].map((method) => connection.request(method, {}, NEVER))
  const replies = await Promise.allSettled(asked)

  const over = { reason: { code: 'limit-exceeded', message: expect.stringContaining('over 100000 bytes') } }
  const short = { value: { ok: true, result: {} } }
  expect(replies).toMatchObject([over, short, over, short])
})

test('an answer over the cap that belongs to no request is the end of the connection', async () => {
  const code = `message.method === 'initialize' ? greet(message) : process.stdout.write('x'.repeat(200_000) + '\\n')`
  await using connection = await connect(program(LATER + code), { answerBytes: 100_000 })

  const asked = connection.request('x/y', {}, NEVER)

  await expect(asked).rejects.toMatchObject({ code: 'limit-exceeded' })
  await connection.ended
})

test('what a program prints that is no message is passed over', async () => {
  const code = `console.log('Ready'), console.log('{'), console.log('[]'), console.log('null'), console.log('{"jsonrpc":"2.0"}')
    message.method === 'initialize' ? greet(message) : result(message, {})`

  await using connection = await connect(program(LATER + code))

  await expect(connection.request('x/y', {}, NEVER)).resolves.toEqual({ ok: true, result: {} })
})

const SHELL = { kind: 'program', command: '/bin/sh', path: '/bin:/usr/bin', home: '/', env: async () => ({}) } as const
const SPEAKS_MCP =
  'Check `command` and `args` of the source: that program must speak MCP over its standard input and output, and print nothing else there'

test.each([
  ['prints other lines without end', 'while echo hello; do :; done', 'and prints other text, "hello"'],
  ['prints JSON that is no message', "while echo '{}'; do :; done", 'and prints other text, "{}"'],
  ['prints one line without end', 'cat /dev/zero', 'its first line is over 100000 bytes'],
  [
    'has a first line over the limit',
    "head -c 100001 /dev/zero | tr '\\0' x; echo; cat",
    'its first line is over 100000 bytes',
  ],
])('a program that %s is refused at once, and not started again', async (_, script, what) => {
  const opened = connect({ ...SHELL, args: ['-c', script] }, { answerBytes: 100_000, connectMs: 180_000 })

  await expect(opened).rejects.toMatchObject({
    code: 'protocol-not-spoken',
    message: expect.stringContaining(`Cannot open a session with "/bin/sh": it sends no MCP message, ${what}`),
    fix: SPEAKS_MCP,
  })
})

test('a program that is silent is given up after the time for a request, with what it printed and what to check', async () => {
  const args = ['-c', "echo 'Log in first'; exec sleep 1000"]

  const opened = connect({ ...SHELL, args }, { connectMs: 200, requestMs: 400 })

  await expect(opened).rejects.toMatchObject({
    code: 'source-unreachable',
    message: 'Cannot reach "/bin/sh": no answer to "initialize" within 400 ms; the program prints "Log in first"',
    fix: SPEAKS_MCP,
  })
})

test('what a silent program prints on its standard error is told too', async () => {
  const args = ['-c', "echo 'No key' >&2; exec sleep 1000"]

  const opened = connect({ ...SHELL, args }, { connectMs: 200, requestMs: 400 })

  await expect(opened).rejects.toThrow('; the program prints "No key"')
})

test('a program that ends is the end of the connection, which says what the program said last', async () => {
  const code = `message.method === 'initialize' ? greet(message) : (console.error('First\\nNo \\u001b[31mdisk'), process.exit(7))`
  await using connection = await connect(program(LATER + code))

  const asked = connection.request('x/y', {}, NEVER)

  const why = 'the program ended with status 7, and says "No [31mdisk"'
  await expect(asked).rejects.toMatchObject({ code: 'source-unreachable', message: expect.stringContaining(why) })
  await connection.ended
})

test('a program that ends before it is greeted says why', async () => {
  const opened = connect(program("console.error('No such database'), process.exit(1)"))

  await expect(opened).rejects.toMatchObject({
    code: 'source-unreachable',
    message: expect.stringContaining('"No such database"'),
    fix: SPEAKS_MCP,
  })
})

test('a program that is not there is said to be missing', async () => {
  const opened = connect({ ...node([]), command: '/no/such/program' })

  await expect(opened).rejects.toMatchObject({
    code: 'source-unreachable',
    message: 'Cannot start "/no/such/program": there is no such program, or it cannot be run',
  })
})

test('a shell never reads what a program is given', async () => {
  const code = 'message.method === "initialize" ? greet(message) : result(message, { given: process.argv.slice(1) })'
  const { args, ...rest } = program(LATER + code)

  await using connection = await connect({ ...rest, args: [...args, '$(id)', '; exit', '* "'] })

  await expect(connection.request('x/y', {}, NEVER)).resolves.toMatchObject({
    result: { given: ['$(id)', '; exit', '* "'] },
  })
})

test('with the connection ends all that the program started', async () => {
  // The child of the program holds a connection, which is cut when the child is no more.
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const child = `process.on('SIGTERM', () => {}), require('node:net').connect(${port}, '127.0.0.1')`
  const code = `if (message.method !== 'initialize') result(message, {})
    else require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'ignore' }), greet(message)`
  const connected = once(server, 'connection')
  const connection = await connect(program(LATER + code))
  const [socket] = await connected
  const cut = once(
    socket.on('error', () => {}),
    'close',
  )

  await connection[Symbol.asyncDispose]()

  await expect(cut).resolves.toBeDefined()
  server.close()
})

test.each(['close', 'exit'])(
  'what left the group of the program, and holds its output open, keeps nobody waiting for its end (%s)',
  async (how) => {
    // It ends with the connection that it holds.
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const child = `require('node:net').connect(${port}, '127.0.0.1').on('close', () => process.exit())`
    const code = `if (message.method !== 'initialize') process.exit(3)
      else require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { detached: true, stdio: ['ignore', 'inherit', 'inherit'] }), greet(message)`
    const connected = once(server, 'connection')
    const connection = await connect(program(LATER + code))
    const [socket] = await connected

    const asked = how === 'exit' ? connection.request('x/y', {}, NEVER) : connection[Symbol.asyncDispose]()
    const [end] = await Promise.allSettled([asked, connection.ended])

    const reason: unknown = end.status === 'rejected' ? end.reason : undefined
    expect(reason instanceof SyncError && reason.code).toBe(how === 'exit' && 'source-unreachable')
    expect(socket.closed).toBe(false)
    socket.destroy()
    server.close()
    await connection[Symbol.asyncDispose]()
  },
)

/** Says of itself that it is of the legacy era. */
const LATER =
  "if (message.id === undefined) return; if (message.method === 'server/discover') return error(message, -32601);"
