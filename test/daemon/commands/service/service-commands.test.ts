import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expectDone } from '../../../../src/daemon/commands/service/service-commands.ts'
import { environmentOf } from '../../../../src/daemon/config/environment.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

const STEADY = new AbortController().signal
const STEPS = [['daemon-reload'], ['enable', 'skillsyncd.service'], ['restart', 'skillsyncd.service']]

test('the manager is asked for each step in turn, and the first that fails ends it with the command to run', async () => {
  await using folder = await temporaryFolder()
  const bin = join(folder.path, 'bin')
  await mkdir(bin)
  const script = `#!/bin/sh\necho "$*" >> ${folder.path}/calls\ncase "$*" in *restart*) echo "no bus" >&2; exit 1;; esac\n`
  await writeFile(join(bin, 'systemctl'), script)
  await chmod(join(bin, 'systemctl'), 0o755)
  const environment = environmentOf({ PATH: bin }, folder.path)

  const done = expectDone('user', STEPS, environment, STEADY)

  await expect(done).rejects.toThrow(
    'The service is installed, but systemctl --user restart skillsyncd.service failed: no bus; run it by hand',
  )
  expect(await readFile(join(folder.path, 'calls'), 'utf8')).toBe(
    '--user daemon-reload\n--user enable skillsyncd.service\n--user restart skillsyncd.service\n',
  )
})

test('where the manager is not there, the command to run is named', async () => {
  await using folder = await temporaryFolder()

  const done = expectDone('system', STEPS, environmentOf({ PATH: folder.path }, folder.path), STEADY)

  await expect(done).rejects.toThrow('systemctl daemon-reload failed: it is not on PATH; run it by hand')
})
