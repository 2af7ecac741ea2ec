import { spawnSync } from 'node:child_process'
import parse from 'parse-prometheus-text-format'
import { neededProgram } from '../process/has-program.ts'

type Read = ReturnType<typeof parse>[number]
type ReadSample = Read['metrics'][number]

/** The figures of a page. */
export class Figures {
  readonly families: readonly Pick<Read, 'name' | 'help' | 'type'>[]
  readonly #samples: ReadonlyMap<string, readonly ReadSample[]>

  constructor(text: string) {
    this.families = parse(text)
    // It makes one of histograms that differ in their labels. Where it is told of no types, each sample stays what it is.
    const untyped = parse(text.replaceAll(/^# TYPE .*\n/gm, ''))
    this.#samples = new Map(
      [...Map.groupBy(untyped, ({ name }) => name)].map(([name, read]) => [
        name,
        read.flatMap(({ metrics }) => metrics),
      ]),
    )
  }

  /** Those of this name, with `_bucket`, `_sum` or `_count` behind it where it is a histogram's. */
  samples(name: string): readonly ReadSample[] {
    const samples = this.#samples.get(name)
    if (samples === undefined)
      throw new Error(`There is no figure "${name}" among ${[...this.#samples.keys()].join(', ')}`)
    return samples
  }

  /** Of the sample that has these labels, and perhaps others. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const found = this.samples(name).find(({ labels: own = {} }) =>
      Object.entries(labels).every(([label, value]) => own[label] === value),
    )
    return found && numberOf(found.value)
  }
}

export function numberOf(text: string): number {
  return Number(text.replace('Inf', 'Infinity'))
}

/** The findings of Prometheus' own tool, which alone judges by the rules of Prometheus. The test is skipped without it. */
export function promtool(
  args: readonly string[],
  input = '',
): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync(neededProgram('promtool'), args, { input, encoding: 'utf8' })
  return { status, said: `${stdout}${stderr}` }
}
