import { exec } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { World } from '../e2e/world.ts'
import type { Ended } from '../support/process/program.ts'
import type { OfferedFix } from './offered.ts'

/** A state in which the program offers a fix, and what a person does who reads it. */
export interface Reproduction {
  /** The lines of the source `team` beside its address. */
  readonly source?: readonly string[]
  /** Makes the state: `team` has the skill `alpha`, and nothing was pulled. */
  readonly make: (world: World) => Promise<void>
  /** The command that meets the problem. */
  readonly ask: readonly string[]
  /** The fix as this message has it, where it is more exact than that of the code, which `explain` has. */
  readonly says?: RegExp
  /** The ways that the fix has, by its words for each; each is tried in a state of its own. */
  readonly ways: Readonly<Record<string, Way>>
  /** The command that shows the problem gone; the one that met it unless given. */
  readonly again?: readonly string[]
}

export type Way = (reader: Reader) => Promise<void>

/** A person with a printed fix. */
export class Reader {
  readonly world: World
  /** The words of the fix that are followed. */
  readonly step: string
  /** The fix as it was printed. */
  readonly fix: string
  /** All that was printed with it. */
  readonly message: string

  constructor(world: World, printed: Pick<Reader, 'step' | 'fix' | 'message'>) {
    this.world = world
    this.step = printed.step
    this.fix = printed.fix
    this.message = printed.message
    expect(this.fix.replaceAll(/\s+/g, ' ')).toContain(this.step)
  }

  /** The part of the step that fits. */
  read(part: RegExp): string {
    const found = part.exec(this.step)
    if (found === null) throw new Error(`"${this.step}" has no ${part.source}`)
    return found[1] ?? found[0]
  }

  /** The line of a configuration that the step names in backticks: a key for the value, or the whole line. */
  line(value = ''): string {
    const named = this.read(/`([^`]+)`/)
    if (named.includes(': ')) return named
    const keys = named.split('.')
    return `${keys.join(': { ')}: ${value}${' }'.repeat(keys.length - 1)}`
  }

  /** Types the command that the fix has, each word in capitals replaced by what it stands for here. */
  async types(command: RegExp, filled: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const [line] = command.exec(this.fix) ?? []
    if (line === undefined) throw new Error(`"${this.fix}" has no ${command.source}`)
    const words = line.split(' ').map((word) => filled[word] ?? word)
    expect(words[0]).toBe('skillsyncd')
    const ended = await this.world.home.command(...words.slice(1))
    expect([0, 3], `${line}: ${ended.stdout}${ended.stderr}`).toContain(ended.status)
    return ended
  }

  /** Runs the command of another program that the fix, or the message before it, has. */
  async runs(command: RegExp): Promise<void> {
    const [line] = command.exec(this.message) ?? []
    if (line === undefined) throw new Error(`"${this.message}" has no ${command.source}`)
    await promisify(exec)(line, { env: this.world.home.env })
  }
}

/** Meets the problem, does what the fix says, and returns what is printed then. */
export async function reproduce(
  { code, fix }: OfferedFix,
  { source, make, ask, says, again = ask }: Reproduction,
  [step, way]: readonly [string, Way],
): Promise<Printed> {
  await using world = await World.create(source)
  await make(world)

  const met = await printedBy(world, ask)
  if (!met.text.includes(code) && ask[0] !== 'start')
    expect((await printedBy(world, [...ask, '--json'])).text).toContain(`"${code}"`)
  const [printed] = (says ?? patternOf(fix)).exec(met.text) ?? []
  const explained = says === undefined ? '' : (await printedBy(world, ['explain', code])).text
  expect(printed, met.text).toBeDefined()

  await way(new Reader(world, { step, fix: `${printed}\n${explained}`, message: met.text }))

  return await printedBy(world, again)
}

interface Printed {
  readonly status: number | null
  readonly text: string
}

async function printedBy({ home }: World, command: readonly string[]): Promise<Printed> {
  const { status, stdout, stderr } = await home.command(...command)
  return { status, text: stdout + stderr }
}

/** The fix with any word at the place of a word in capitals. */
function patternOf(fix: string): RegExp {
  const plain = fix.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  return new RegExp(plain.replaceAll(/\b(?:SOURCE|ID|SKILL|PATH|NAME|COMMIT)\b/g, String.raw`\S+`))
}
