/** A scanner that the program knows how to call. */
export interface ScannerPreset {
  /** Found through PATH. */
  readonly command: string
  /** The arguments before those of the operator. */
  readonly args: readonly string[]
  /** The arguments that name one path of rules. */
  readonly argsOfRules: (path: string) => readonly string[]
  /** The arguments with which it prints its version; `undefined` if it has none, or if its rules are elsewhere. */
  readonly versionArgs: readonly string[] | undefined
  readonly output: 'sarif' | 'agent-scan'
  /** False if it scans only folders with a SKILL.md. */
  readonly scansDocs: boolean
  /** The way to install it; `undefined` if the operator names the program. */
  readonly install: string | undefined
}

export const SCANNER_NAMES = ['cisco-skill-scanner', 'snyk-agent-scan', 'semgrep', 'command'] as const
export type ScannerName = (typeof SCANNER_NAMES)[number]

/** True for a scanner whose command is known. */
export function isKnownScanner(name: ScannerName | undefined): boolean {
  return name !== undefined && SCANNER_PRESETS[name].command !== ''
}

/**
 * The scanners by name. Their command lines are those of
 * https://github.com/cisco-ai-defense/skill-scanner/blob/main/docs/reference/cli-command-reference.md (2.x),
 * https://github.com/snyk/agent-scan/blob/main/README.md (0.5) and https://semgrep.dev/docs/cli-reference (1.x).
 */
export const SCANNER_PRESETS: Readonly<Record<ScannerName, ScannerPreset>> = {
  'cisco-skill-scanner': {
    command: 'skill-scanner',
    // Without --lenient, one SKILL.md with faults in its frontmatter would leave the whole commit without an answer.
    args: ['scan', '{folder}', '--format', 'sarif', '--lenient'],
    argsOfRules: () => [],
    versionArgs: ['--version'],
    output: 'sarif',
    scansDocs: false,
    install: 'pip install cisco-ai-skill-scanner',
  },
  'snyk-agent-scan': {
    command: 'snyk-agent-scan',
    args: ['scan', '--json', '--no-bootstrap'],
    argsOfRules: () => [],
    // An address of Snyk judges the skills: no version of the program says by which rules.
    versionArgs: undefined,
    output: 'agent-scan',
    scansDocs: false,
    install: 'uv tool install snyk-agent-scan',
  },
  semgrep: {
    command: 'semgrep',
    // The author of a skill writes its .gitignore, .semgrepignore and nosemgrep comments: none of them may count.
    args: [
      'scan',
      '--sarif',
      '--quiet',
      '--metrics=off',
      '--disable-version-check',
      '--disable-nosem',
      '--no-git-ignore',
      '--x-ignore-semgrepignore-files',
      '--max-target-bytes=0',
    ],
    argsOfRules: (path) => ['--config', path],
    versionArgs: ['--version'],
    output: 'sarif',
    scansDocs: true,
    install: 'pip install semgrep',
  },
  command: {
    command: '',
    args: [],
    argsOfRules: () => [],
    versionArgs: undefined,
    output: 'sarif',
    scansDocs: true,
    install: undefined,
  },
}
