import { realpath } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { UsageError } from './runtime/usage-error.ts'

/** The files that a service manager starts: absolute paths, without links. */
export interface ProgramFiles {
  /** The Node that runs this process. */
  readonly node: string
  readonly main: string
  /** The folder of the package. */
  readonly folder: string
}

/** The running program. Throws if it is installed in a temporary place. */
export async function programFiles(): Promise<ProgramFiles> {
  const folder = await realpath(fileURLToPath(new URL('../../', import.meta.url)))
  const files = {
    node: await realpath(process.execPath),
    main: fileURLToPath(new URL('./main.js', import.meta.url)),
    folder: folder.replace(/\/$/, ''),
  }
  if (/\/_npx\//.test(files.main))
    throw new UsageError(
      `Cannot make a service of "${files.main}": npx removes it again; install what npm pack made in a clone with npm install --global FILE`,
    )
  return files
}
