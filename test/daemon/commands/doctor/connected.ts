import { writeFile } from 'node:fs/promises'
import { onTestFinished } from 'vitest'
import { World } from '../../../e2e/world.ts'

interface Step {
  readonly step: string
  readonly verdict: string
  readonly message: string
  readonly fix?: string
}

interface Connected {
  readonly status: number | null
  readonly url: string
  readonly counts: { readonly ok: number; readonly warn: number; readonly fail: number }
  readonly eras: readonly { readonly era: string; readonly client: string; readonly steps?: readonly Step[] }[]
  readonly text: string
}

export async function connected({ home }: World, ...args: readonly string[]): Promise<Connected> {
  const { status, stdout, stderr } = await home.command('doctor', '--connect', '--json', ...args)
  if (stdout === '') throw new Error(stderr)
  return { status, ...JSON.parse(stdout), text: stdout }
}

/** What each step came to, by era. */
export function statesOf({ eras }: Connected): Record<string, readonly string[]> {
  return Object.fromEntries(
    eras.map(({ era, steps = [] }) => [era, steps.map(({ step, verdict }) => `${step} ${verdict}`)]),
  )
}

export function failuresOf({ eras }: Connected): readonly Step[] {
  return eras.flatMap(({ steps = [] }) => steps.filter(({ verdict }) => verdict === 'fail'))
}

export const WELL = {
  2025: ['open ok', 'list ok', 'read ok', 'subscribe ok', 'stream ok', 'unsubscribe ok'],
  2026: ['open ok', 'list ok', 'read ok', 'subscribe ok', 'unsubscribe ok'],
}

/** A daemon that serves, with its origin. `http`: what its configuration has under `serve.http`. */
export async function serving(http: readonly string[] = []) {
  const world = await World.create()
  onTestFinished(() => world[Symbol.asyncDispose]())
  const { home, git } = world
  const lines = ['port: 0', ...http].map((line) => `    ${line}\n`).join('')
  await writeFile(home.configFile, `sources:\n  - id: team\n    url: ${git.origin}/team.git\nserve:\n  http:\n${lines}`)
  await world.synced()
  const { stdout } = await home.command('hub', 'token', 'add', 'ada')
  const daemon = home.start('start')
  const { origin } = new URL(await daemon.line())
  return { world, origin, token: stdout.trim() }
}
