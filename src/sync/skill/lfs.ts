const HEAD = Buffer.from('version https://git-lfs.github.com/spec/')

/** The Git LFS specification: a pointer file is under 1,024 bytes. */
const MAX_BYTES = 1024

/** True if the bytes are a Git LFS pointer instead of the file itself. */
export function isLfsPointer(bytes: Uint8Array): boolean {
  return bytes.length < MAX_BYTES && HEAD.equals(bytes.subarray(0, HEAD.length))
}
