import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../temporary.ts'

const SCRIPT = fileURLToPath(new URL('word-scanner.mjs', import.meta.url))

/** A scanner that is a program of its own, and its rules: lines `LEVEL WORD`. */
export class WordScanner implements AsyncDisposable {
  readonly #folder: AsyncDisposable
  readonly rules: string

  private constructor(folder: AsyncDisposable & { readonly path: string }) {
    this.#folder = folder
    this.rules = join(folder.path, 'rules')
  }

  static async create(...rules: readonly string[]): Promise<WordScanner> {
    const scanner = new WordScanner(await temporaryFolder())
    await scanner.obeys(...rules)
    return scanner
  }

  /** Replaces the rules. */
  async obeys(...rules: readonly string[]): Promise<void> {
    await writeFile(this.rules, rules.map((rule) => `${rule}\n`).join(''))
  }

  /** The configuration of a gate that uses it, as lines of YAML. */
  gate(...lines: readonly string[]): string[] {
    return [
      'gate:',
      `  command: ${process.execPath}`,
      `  args: [${SCRIPT}, ${this.rules}]`,
      '  scanner: command',
      `  version_args: [${SCRIPT}, --version]`,
      `  rules: [${this.rules}]`,
      '  timeout: 1m',
      ...lines.map((line) => `  ${line}`),
    ]
  }

  /** The number of folders that were scanned. */
  async runs(): Promise<number> {
    const text = await readFile(`${this.rules}.runs`, 'utf8').catch(() => '')
    return text.split('\n').length - 1
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]()
  }
}
