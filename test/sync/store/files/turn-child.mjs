// Takes a turn again and again, and fails where it is not alone. Each third time it leaves the file behind, as old as one of a
// process that was killed. It is JavaScript, since it runs the built program. argv: the path of the file, and how often.
import { open, rm, utimes } from 'node:fs/promises'
import { FileLock } from '../../../../dist/sync/store/files/file-lock.js'

const [, , path, times] = process.argv
const { signal } = new AbortController()
for (let time = 1; time <= Number(times); time += 1) {
  const turn = await FileLock.take(path, Date.now, signal)
  const inside = await open(`${path}.inside`, 'wx')
  if (!(await turn.isOurs())) throw new Error('It was taken away')
  await inside.close()
  await rm(`${path}.inside`)
  if (time % 3 === 0) {
    await utimes(path, 0, 0)
    await turn.handle.close()
  } else await turn[Symbol.asyncDispose]()
}
