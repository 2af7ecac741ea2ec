import { join } from 'node:path'
import { expect, test } from 'vitest'
import { environmentOf } from '../../src/daemon/config/environment.ts'
import { parseConfig } from '../../src/daemon/config.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { createLog } from '../../src/daemon/log.ts'
import { Redactor } from '../../src/daemon/redactor.ts'
import { Store } from '../../src/sync/store/store.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { fillFolder } from '../support/folder.ts'
import { skillText } from '../support/scripted-upstream.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { sourceId } from '../sync/store/samples.ts'

test.each(['other/state', '.local/state/skillsyncd/adhoc/0'])(
  'a home is served without the copies that lie in it, with the state in %s',
  async (state) => {
    await using home = await temporaryFolder()
    await fillFolder(home.path, {
      'skills/a/SKILL.md': skillText('a'),
      '.local/state/skillsyncd/adhoc/1/skills/x/b/SKILL.md': skillText('b'),
    })
    const yaml = `sources:\n  - id: home\n    path: ${home.path}\nstate: ${join(home.path, state)}\n`
    const environment = environmentOf({}, home.path)
    const config = parseConfig(yaml, 'skillsyncd.yaml', environment)
    if (Array.isArray(config)) throw new Error(JSON.stringify(config))
    const redactor = new Redactor()
    const clock = new FakeClock()
    const stream = { write: () => true }
    const log = createLog({ level: 'error', stream, format: 'json', journal: false, clock, redactor })
    const store = await Store.open(config.state)
    await using daemon = await Daemon.start(config, { store, clock, log, environment, redactor })
    await daemon.sync()

    const again = await daemon.sync()

    expect(again.get(sourceId('home'))?.kind).toBe('unchanged')
    expect(daemon.registry.catalog.listed.map(({ name }) => name)).toEqual(['a'])
  },
)
