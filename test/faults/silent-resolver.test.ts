import { describe, expect, test } from 'vitest'
import { NO_NAMES } from './names.ts'
import { Resolver } from './resolver.ts'
import { Scene } from './scene.ts'

describe.skipIf(NO_NAMES !== undefined)(
  `a resolver that gives no answer${NO_NAMES === undefined ? '' : `, but ${NO_NAMES}`}`,
  () => {
    test('40 sources whose names are not answered delay no source whose name is', async () => {
      await using scene = await Scene.set()
      await using resolver = await Resolver.of(scene.home)
      await scene.home.configure(sourcesOf(scene, resolver.name), PATIENT)

      // None of the 40 look-ups ends while the test runs.
      await scene.play()
      await scene.recovers()

      expect(scene.daemon.stderr).not.toContain('"pull-failed"')
      await scene.witness.testify()
    })

    test('a source whose name was answered before is updated while no name is answered', async () => {
      await using scene = await Scene.set()
      await using resolver = await Resolver.of(scene.home)
      await scene.home.configure(sourcesOf(scene, resolver.name), PATIENT)
      await scene.play()

      resolver.isSilent = true
      // A connection that is kept needs no name.
      await scene.git.goAway()
      await scene.git.comeBack()

      await scene.recovers()
      expect(scene.daemon.stderr).not.toContain('"dns-failed"')
      await scene.witness.testify()
    })
  },
)

/** Longer than any test: a look-up that is not answered does not end. */
const PATIENT = ['limits: { fetch: { connect_timeout: 1h, total_timeout: 1h } }']

/** The source `team` at a name that is answered, behind 40 sources at names that are not. */
function sourcesOf(scene: Scene, name: string): Readonly<Record<string, readonly string[]>> {
  const { port } = new URL(scene.git.origin)
  const silent = Array.from({ length: 40 }, (_, index) => [
    `silent-${index}`,
    [`url: http://silent-${index}:${port}/team.git`, 'every: 1s'],
  ])
  return { ...Object.fromEntries(silent), team: [`url: http://${name}:${port}/team.git`, 'every: 1s'] }
}
