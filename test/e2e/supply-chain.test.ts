import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { expect, test } from 'vitest'
import { NpmRegistry } from '../support/http/npm-registry.ts'
import { bundledPackages, lockedPackages } from '../support/process/npm-lock.ts'
import { temporaryFolder } from '../support/temporary.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PROGRAM = join(ROOT, 'dist/program')

const ADVISORY = {
  id: 1,
  url: 'https://advisories.example.com/1',
  title: 'Made up',
  severity: 'low',
  vulnerable_versions: '*',
}

test('the lock has the digest of every package, for every platform', async () => {
  const packages = await lockedPackages()

  const unchecked = packages.filter(({ integrity }) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))

  expect(packages.length).toBeGreaterThan(300)
  expect(unchecked.map(({ path }) => path)).toEqual([])
})

test('what the program is made of are packages of the lock, each with the text of its license', async () => {
  const locked = new Map((await lockedPackages()).map((entry) => [entry.path, entry]))
  const bundled = await bundledPackages()
  const licenses = await readFile(join(PROGRAM, 'licenses.txt'), 'utf8')

  expect(bundled.length).toBeGreaterThan(50)
  for (const { name, version, path } of bundled) {
    expect(locked.get(path)).toMatchObject({ version, dev: true })
    const [, text = ''] = licenses.split(`${'='.repeat(80)}\n${name} ${version}, `)
    expect(text.slice(0, text.indexOf('='.repeat(80))), name).toMatch(/copyright|permission|license/i)
  }
})

test('the program imports nothing that does not come with it or with Node, but the SDK of the user', async () => {
  const texts = (await readdir(PROGRAM))
    .filter((name) => name.endsWith('.js'))
    .map(async (name) => readFile(join(PROGRAM, name), 'utf8'))
  const imported = (await Promise.all(texts)).flatMap((text) =>
    Array.from(
      text.matchAll(/^(?:import|export)\b[^;]*?"([^"]+)";|\bimport\("([^"]+)"\)/gm),
      ([, name, late]) => name ?? late ?? '',
    ),
  )
  const elsewhere = imported.filter(
    (name) => !name.startsWith('.') && !isBuiltin(name) && !name.startsWith('@modelcontextprotocol/sdk/'),
  )

  expect(imported.length).toBeGreaterThan(500)
  expect(elsewhere).toEqual([])
})

test('the bill of materials is valid, names each package that the program has with its digest, and is the same each time', async () => {
  await using folder = await temporaryFolder()
  const [first, second] = [join(folder.path, 'first.json'), join(folder.path, 'second.json')]

  await run(process.execPath, ['.ci/sbom.mjs', first])
  await run(process.execPath, ['.ci/sbom.mjs', second])
  const text = await readFile(first, 'utf8')
  const { components } = JSON.parse(text)

  expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)).toBeNull()
  expect(await readFile(second, 'utf8')).toBe(text)
  const paths = new Set((await bundledPackages()).map(({ path }) => path))
  const expected = (await lockedPackages()).filter(({ path }) => paths.has(path))
  const named = components.map(({ purl, hashes }: Component) => [purl, hashes?.[0]?.content])
  expect(Object.fromEntries(named)).toEqual(Object.fromEntries(expected.map(purlAndDigest)))
})

test('an advisory for a package that the program has fails the check, and names package and advisory', async () => {
  await using registry = await NpmRegistry.start(advising({ yaml: [ADVISORY] }))

  const checked = await run(process.execPath, ['.ci/advisories.mjs', '--registry', registry.url])

  expect(checked).toMatchObject({ status: 1 })
  expect(checked.stdout).toContain('low: yaml: Made up https://advisories.example.com/1')
})

test('advisories for none of the packages, or for one of development alone, pass the check', async () => {
  await using registry = await NpmRegistry.start(advising({ vitest: [ADVISORY] }))

  const checked = await run(process.execPath, ['.ci/advisories.mjs', '--registry', registry.url])

  expect(checked).toEqual({ status: 0, stdout: '0 packages with advisories\n' })
})

test('a registry without advisories is reported, and fails nothing', async () => {
  await using registry = await NpmRegistry.start(advising(undefined))

  const checked = await run(process.execPath, ['.ci/advisories.mjs', '--registry', registry.url])

  expect(checked).toMatchObject({ status: 0, stdout: expect.stringContaining('advisories cannot be had here') })
})

interface Component {
  readonly purl: string
  readonly hashes?: readonly { readonly content: string }[]
}

function purlAndDigest({ path, version, integrity = '' }: Awaited<ReturnType<typeof lockedPackages>>[number]) {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const digest = Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex')
  return [`pkg:npm/${name.replace('@', '%40')}@${version}`, digest]
}

/** npm asks for all versions of a package that has an advisory, and of those that depend on it. */
function packumentAt(path: string): object {
  const name = decodeURIComponent(path.slice(1))
  const dist = { tarball: 'http://127.0.0.1/' }
  return { name, 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': { name, version: '1.0.0', dist } } }
}

/** Answers with advisories, and with packages as far as npm asks for those; undefined for a registry that has no advisories. */
function advising(advisories: object | undefined) {
  return ({ method, url = '' }: IncomingMessage) => (method === 'POST' ? advisories : packumentAt(url))
}

async function run(
  program: string,
  args: readonly string[],
): Promise<{ readonly status: number; readonly stdout: string }> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: ROOT, encoding: 'utf8' }, (error, stdout) => {
      resolve({ status: typeof error?.code === 'number' ? error.code : 0, stdout })
    })
  })
}
