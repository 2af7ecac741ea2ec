import { test } from 'vitest'
import { Scene } from './scene.ts'

test('16: while nobody listens where the host was, what was served is served, and it recovers by itself', async () => {
  await using scene = await Scene.set()
  await scene.play()

  await scene.git.goAway()
  await scene.condition('source-unreachable')
  await scene.witness.looksAgain()
  await scene.git.comeBack()

  await scene.recovers()
  await scene.expectWell()
})
