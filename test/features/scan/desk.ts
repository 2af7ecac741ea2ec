import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import type { GateCandidate } from '../../../src/features/scan/candidate.ts'
import { askGate, type Gate, type GateVerdict } from '../../../src/features/scan/gate.ts'
import type { KnownScans } from '../../../src/features/scan/scanner.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const NEVER = new AbortController().signal

/** A commit without skills. */
export const CANDIDATE: GateCandidate = {
  version: 1,
  source: 'team',
  url: 'https://git.example.com/skills.git',
  ref: 'refs/heads/main',
  commit: '1'.repeat(40),
  previousCommit: null,
  skills: [],
  findings: [],
}

/** The configuration of one source. */
export const SOURCES = 'sources: [{ id: team, url: https://git.example.com/skills.git }]\n'

/** Where gates are asked from: a folder for their scripts, and a clock that stands still. */
export class Desk implements AsyncDisposable {
  readonly clock = new FakeClock()
  /** The scans that the gates keep; `undefined` to keep none. */
  scans: KnownScans | undefined
  readonly #folder: Awaited<ReturnType<typeof temporaryFolder>>
  readonly #variables: Readonly<Record<string, string>>

  private constructor(
    folder: Awaited<ReturnType<typeof temporaryFolder>>,
    variables: Readonly<Record<string, string>>,
  ) {
    this.#folder = folder
    this.#variables = variables
  }

  static async open(variables: Readonly<Record<string, string>> = {}): Promise<Desk> {
    return new Desk(await temporaryFolder(), { PATH: process.env['PATH'] ?? '', ...variables })
  }

  at(name: string): string {
    return join(this.#folder.path, name)
  }

  /** Asks a shell script. */
  async ask(
    script: string,
    options: { lines?: readonly string[]; candidate?: GateCandidate; signal?: AbortSignal } = {},
  ): Promise<GateVerdict> {
    await writeFile(this.at('gate'), `#!/bin/sh\n${script}\n`)
    await chmod(this.at('gate'), 0o755)
    return this.askBy([`command: ${this.at('gate')}`, ...(options.lines ?? [])], options.candidate, options.signal)
  }

  /** Asks the gate of a configuration. */
  async askBy(lines: readonly string[], candidate = CANDIDATE, signal = NEVER): Promise<GateVerdict> {
    const environment = environmentOf(this.#variables, this.#folder.path)
    const yaml = `${SOURCES}gate:\n${lines.map((line) => `  ${line}\n`).join('')}`
    const config = parseConfig(yaml, this.at('skillsyncd.yaml'), environment)
    if (Array.isArray(config) || config.gate === undefined) throw new Error(JSON.stringify(config))
    const gate: Gate = {
      config: config.gate,
      environment,
      redactor: new Redactor(),
      clock: this.clock,
      ...(this.scans && { scans: this.scans }),
    }
    return askGate(candidate, gate, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]()
  }
}
