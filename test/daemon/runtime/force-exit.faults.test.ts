import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Home } from '../../support/process/program.ts'

test.skipIf(process.execve === undefined)('a fault ends the process though a thread of the system hangs', async () => {
  await using home = await Home.create()
  await home.configure({ team: ['url: http://127.0.0.1:9/x.git'] })
  const pipe = join(home.path, 'pipe')
  // Whoever opens it waits for a writer that does not come.
  execFileSync('mkfifo', [pipe])
  home.env['NODE_OPTIONS'] = preload(`
    import { open } from 'node:fs'
    const write = process.stdout.write.bind(process.stdout)
    process.stdout.write = (...line) => {
      open(${JSON.stringify(pipe)}, () => {})
      setImmediate(() => { throw new Error('a fault') })
      return write(...line)
    }`)

  const end = await home.start('start').ended()

  expect(end).toMatchObject({ status: 1, signal: null, stderr: expect.stringContaining('ended by a fault') })
})

function preload(script: string): string {
  return `--import=data:text/javascript,${encodeURIComponent(script)}`
}

test.skipIf(process.execve === undefined)(
  'a command that waits for a disk that hangs ends once it is asked to, and says what hangs',
  async () => {
    await using home = await Home.create()
    await home.configure({ team: ['url: http://127.0.0.1:9/x.git'] })
    const pipe = join(home.path, 'pipe')
    execFileSync('mkfifo', [pipe])
    const hangs = JSON.stringify([home.state, pipe])
    // Whoever makes the folder waits for a writer of the pipe, in a thread of the system, as for a disk that is gone.
    home.env['NODE_OPTIONS'] = preload(`
      import fs from 'node:fs/promises'
      import { syncBuiltinESMExports } from 'node:module'
      const [state, pipe] = ${hangs}
      const mkdir = fs.mkdir
      fs.mkdir = async (path, ...rest) => {
        if (path !== state) return mkdir(path, ...rest)
        process.stderr.write('hangs\\n')
        await fs.open(pipe)
      }
      syncBuiltinESMExports()`)
    const command = home.start('sync')
    await command.said((line) => line === 'hangs')

    const end = await command.stop('SIGINT')

    expect(end).toMatchObject({ status: 1, signal: null })
    expect(end.stderr).toContain('stopped without waiting for what hangs: a disk, most likely that of the state folder')
  },
)
