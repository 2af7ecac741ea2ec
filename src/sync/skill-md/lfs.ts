const HEAD = Buffer.from('version https://git-lfs.github.com/spec/')

/** The git LFS specification: a pointer file is under 1,024 bytes. */
const MAX_BYTES = 1024

/** Whether the bytes are a pointer of git LFS: the file that is meant lies elsewhere. */
export function isLfsPointer(bytes: Uint8Array): boolean {
  return bytes.length < MAX_BYTES && HEAD.equals(bytes.subarray(0, HEAD.length))
}
