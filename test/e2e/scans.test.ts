import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { Home } from '../support/process/program.ts'
import { WordScanner } from '../support/scanner/word-scanner.ts'
import { openSite, startDaemon } from './programs.ts'
import type { Site } from './programs.ts'
import { skill } from './world.ts'

const FILES = {
  'skills/alpha/SKILL.md': skill('alpha', 'first'),
  'skills/beta/SKILL.md': skill('beta', 'second'),
  'skills/gamma/SKILL.md': skill('gamma', 'third'),
}

test('the findings of what is served and of what waits are shown by a daemon and without one', async () => {
  await using scene = await sceneOf('note first')
  const { site, run } = scene
  await run('sync')
  await site.push({ 'skills/beta/SKILL.md': skill('beta', 'first and second') })
  await scene.scanner.obeys('note first', 'warning second')
  await run('sync')

  const why = await run('why', 'alpha')
  const held = await run('why', 'beta')
  const shown = JSON.parse((await run('show', 'alpha', '--json')).stdout)
  const status = await run('status')

  expect(why.stdout).toMatch(/^ {2}scan {4}1 note, on 20/m)
  expect(why.stdout).toContain('  ! scan note word/first SKILL.md:5: it says first (words)')
  expect(held.stdout).toMatch(
    /^ {2}next {4}its content in [0-9a-f]{40}, which waits for skillsyncd approve: 1 warning/m,
  )
  expect(held.stdout).toContain('  ! next scan warning word/second SKILL.md:5: it says second (words)')
  expect(shown.scan).toMatchObject({
    counts: { error: 0, warning: 0, note: 1, none: 0 },
    findings: [{ tool: 'words', rule: 'word/first', level: 'note', file: 'SKILL.md', line: 5 }],
  })
  expect(status.stdout).toContain('scanned: 3 of what is served, 1 note')
  expect(status.stdout).toMatch(
    /the scan of [0-9a-f]{12}, which is waiting:\n {2}- next scan fx\/beta: warning word\/second/,
  )

  await using daemon = await startDaemon(site)
  const page = await (await fetch(new URL('/problems', daemon.url))).text()
  const skillPage = await (await fetch(new URL('/skills/fx/alpha', daemon.url))).text()
  const { sources } = JSON.parse((await run('status', '--json')).stdout)

  expect(page).toContain('note word/first SKILL.md:5: it says first (words)')
  expect(skillPage).toContain('note word/first SKILL.md:5: it says first (words)')
  expect(sources[0].scan).toMatchObject({ scanned: 3, next: { verdict: 'hold' } })
  expect(sources[0].scan.next.findings[0]).toMatchObject({ skill: 'beta', rule: 'word/second', level: 'warning' })
})

test('a running daemon scans on request, withholds, and says so everywhere', async () => {
  await using scene = await sceneOf('note first')
  const { run, scanner } = scene
  await run('sync')
  await using daemon = await startDaemon(scene.site)
  await scanner.obeys('error third')

  const text = await run('verify', '--scan')
  const runs = await scanner.runs()
  const again = await run('verify', '--scan', '--json')
  const shown = await run('show', 'gamma', '--json')
  const why = await run('why', 'gamma')
  const list = await run('list')
  const status = await run('status')
  const metrics = await (await fetch(new URL('/metrics', daemon.url))).text()
  await run('enable', 'gamma')
  const enabled = await run('verify', '--scan')

  expect(text).toMatchObject({ status: 0, stdout: expect.stringContaining('3 contents scanned: 1 error') })
  expect(text.stdout).toContain('! fx/gamma: withheld; skillsyncd why shows the findings')
  expect(JSON.parse(again.stdout)).toMatchObject({ scanned: 3, refused: [], cleared: [], failed: [] })
  expect(await scanner.runs()).toBe(runs)
  expect(JSON.parse(shown.stdout)).toMatchObject({
    verdict: { state: 'disabled', reasons: [{ code: 'skill-scanned', place: 'fx/gamma' }] },
  })
  expect(why.stdout).toContain('gamma (disabled)')
  expect(why.stdout).toContain('! skill-scanned fx/gamma: in no list, and clients do not find it')
  expect(list.stdout).toMatch(/gamma +disabled/)
  expect(why.stdout).toContain('  ! scan error word/third SKILL.md:5: it says third (words)')
  expect(status.stdout).toContain('  - disabled skill-scanned fx/gamma: ')
  expect(status.stdout).toMatch(/^scanner command: last scan .*1 error/m)
  expect(metrics).toContain('skillsyncd_scan_findings{source="fx",level="error"} 1')
  expect(enabled.stdout).toContain('fx/gamma: refused by the scanner, and served because a person enabled it')
})

test('a configuration without a scanner cannot scan', async () => {
  await using site = await openSite(FILES, '1h')
  await using home = await Home.create()
  await home.run('sync', '--config', site.configFile)

  const { status, stderr } = await home.run('verify', '--scan', '--config', site.configFile)

  expect(status).toBe(1)
  expect(stderr).toContain('Cannot scan: the configuration names no scanner; set gate.scanner')
})

async function sceneOf(...rules: readonly string[]) {
  await using opened = new AsyncDisposableStack()
  const scanner = opened.use(await WordScanner.create(...rules))
  const site: Site = opened.use(await openSite(FILES, '1h'))
  const home = opened.use(await Home.create())
  const gate = scanner.gate('rescan: { most_withheld: 40 }')
  await writeFile(site.configFile, `${await readFile(site.configFile, 'utf8')}${gate.join('\n')}\n`)
  const held = opened.move()
  return {
    scanner,
    site,
    run: async (...args: string[]) => home.run(...args, '--config', site.configFile),
    [Symbol.asyncDispose]: async () => held.disposeAsync(),
  }
}
