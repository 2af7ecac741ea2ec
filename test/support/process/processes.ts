import { readFile, readdir } from 'node:fs/promises'

/** What a process shows of itself, as far as we may look. Linux alone. */
export interface ShownProcess {
  readonly pid: number
  readonly parent: number
  readonly group: number
  /** The first word of its command line. */
  readonly program: string
  /** All of them, with a space behind each. */
  readonly line: string
  readonly environ: string
}

/** All processes of this machine. */
export async function processes(): Promise<readonly ShownProcess[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  return (await Promise.all(pids.map(shown))).flat()
}

function commandIn(text: string): { readonly program: string; readonly line: string } {
  const words = text.split('\0')
  return { program: words[0] ?? '', line: words.join(' ') }
}

async function shown(pid: string): Promise<readonly ShownProcess[]> {
  const textOf = async (name: string): Promise<string> => readFile(`/proc/${pid}/${name}`, 'latin1').catch(() => '')
  const [stat = '', line = '', environ = ''] = await Promise.all(['stat', 'cmdline', 'environ'].map(textOf))
  // It has ended in between.
  if (stat === '') return []
  const [, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return [{ pid: Number(pid), parent: Number(parent), group: Number(group), ...commandIn(line), environ }]
}
