import { isDotGit } from '../../skill/skill-path.ts'
import { parseIgnorePatterns } from './ignore-patterns.ts'

/**
 * The names that are no part of a skill in a folder, as patterns of git by reason: programs leave them wherever people
 * work. Names that authors ship too (`dist`, `build`, `bin`, `vendor`, `target`) are not among them.
 */
export const LEFT_BY_PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  'installed packages and environments': [
    'node_modules',
    '.venv',
    'venv',
    '.virtualenv',
    '.pixi',
    '.direnv',
    '.bundle/',
    '.eggs/',
    '*.egg-info/',
  ],
  'compiled files beside their source': ['__pycache__/', '*.pyc', '*.pyo', '.ipynb_checkpoints/'],
  'caches of tools': [
    '*_cache/',
    '.cache/',
    '.*-cache/',
    '.eslintcache',
    '.stylelintcache',
    '.hypothesis/',
    '.tox/',
    '.nox/',
    '.coverage',
    '.nyc_output/',
    '.gradle/',
    '.terraform/',
    '.dart_tool/',
    '.npm/',
    '.pnpm-store/',
  ],
  'output of web frameworks': [
    '.next/',
    '.nuxt/',
    '.output/',
    '.svelte-kit/',
    '.astro/',
    '.turbo/',
    '.vite/',
    '.angular/',
    '.docusaurus/',
    '.vercel/',
    '.netlify/',
    '.wrangler/',
  ],
  'data of other version control': ['.hg/', '.svn/', '.bzr/', '.jj/', '.sl/'],
  'settings of editors': ['.idea/', '.vscode/', '.vs/', '.fleet/', '.zed/'],
  'unsaved text, backups and locks of editors': [
    '*~',
    '.*.sw[a-px]',
    '.*.kate-swp',
    '*.crswap',
    '4913',
    '.#*',
    '\\#*#',
    '.~lock.*#',
    '~$*',
    '.goutputstream-*',
    '*___jb_tmp___',
    '*___jb_old___',
  ],
  'files of desktops and network disks': [
    '.DS_Store',
    '._*',
    '.AppleDouble/',
    '.LSOverride',
    '.Spotlight-V100',
    '.Trashes',
    '.fseventsd',
    '.TemporaryItems',
    '.DocumentRevisions-V100',
    '__MACOSX/',
    '[Tt]humbs.db',
    'ehthumbs.db',
    '[Dd]esktop.ini',
    '$RECYCLE.BIN/',
    '.directory',
    '.Trash-*',
    '@eaDir/',
    '.nfs[0-9a-f]*',
    '.fuse_hidden*',
    '.dropbox',
    '.dropbox.cache',
    '.stfolder',
    '.stversions/',
    '.syncthing.*.tmp',
  ],
}

const PATTERNS = parseIgnorePatterns(Object.values(LEFT_BY_PROGRAMS).flat().join('\n'))

/**
 * True for names that programs leave in folders, and for the folders of git. A name that some file system treats as
 * `.git` could not be in a commit either.
 */
export function isLeftByPrograms(name: string, isFolder: boolean): boolean {
  const isLeft = PATTERNS.some((it) => (isFolder || !it.isForFolders) && it.matches(name, name, () => {}))
  return isLeft || isDotGit(name)
}
