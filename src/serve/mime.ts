/**
 * Returns the media type of a file. It uses a table of our own: the registered type of a TypeScript extension is a
 * video stream, and skills hold only a short list of types.
 */
export function mimeTypeOf(name: string): string {
  const dot = name.lastIndexOf('.')
  return TYPES.get(dot === -1 ? name.toLowerCase() : name.slice(dot + 1).toLowerCase()) ?? 'application/octet-stream'
}

const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'text/markdown': 'md markdown',
    'text/plain': `txt text license notice makefile dockerfile gitignore log cfg conf ini env bat ps1 rb go rs c h cc cpp hpp
      java kt swift ts tsx jsx vue svelte lua pl php r sql graphql proto tf tmpl tpl j2 jinja ejs hbs tex rst adoc diff patch`,
    'text/x-python': 'py pyi',
    'text/x-shellscript': 'sh bash zsh',
    'text/javascript': 'js mjs cjs',
    'text/css': 'css',
    'text/csv': 'csv',
    'text/tab-separated-values': 'tsv',
    'text/html': 'html htm',
    'application/json': 'json ipynb',
    'application/jsonl': 'jsonl',
    'application/yaml': 'yaml yml',
    'application/toml': 'toml',
    'application/xml': 'xml xsd xsl plist',
    'application/pdf': 'pdf',
    'application/zip': 'zip',
    'application/gzip': 'gz tgz',
    'application/x-tar': 'tar',
    'application/wasm': 'wasm',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
    'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
    'image/png': 'png',
    'image/jpeg': 'jpg jpeg',
    'image/gif': 'gif',
    'image/svg+xml': 'svg',
    'image/webp': 'webp',
    'image/x-icon': 'ico',
    'font/ttf': 'ttf',
    'font/otf': 'otf',
    'font/woff': 'woff',
    'font/woff2': 'woff2',
    'audio/mpeg': 'mp3',
    'audio/wav': 'wav',
    'video/mp4': 'mp4',
  }).flatMap(([type, extensions]) => extensions.split(/\s+/).map((extension): [string, string] => [extension, type])),
)
