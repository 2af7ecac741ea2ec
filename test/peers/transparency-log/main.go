// Reads a channel with the implementation of the Go project, golang.org/x/mod/sumdb: the signature of the checkpoint, the
// proof of each entry, and the proof that the log begins with each shorter one. Prints the number of entries.
package main

import (
	"encoding/base64"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const width = 256

func main() {
	folder, key := os.Args[1], os.Args[2]
	tree := openCheckpoint(read(folder, "checkpoint"), key)
	hashes := tlog.TileHashReader(tree, tiles{folder})
	for first := int64(0); first < tree.N; first += width {
		for at, entry := range entries(read(folder, "tile/entries/"+place(first/width, tree.N-first))) {
			index := first + int64(at)
			proof, err := tlog.ProveRecord(tree.N, index, hashes)
			check(err)
			check(tlog.CheckRecord(proof, tree.N, tree.Hash, index, tlog.RecordHash(entry)))
		}
	}
	for size := int64(1); size <= tree.N; size++ {
		root, err := tlog.TreeHash(size, hashes)
		check(err)
		proof, err := tlog.ProveTree(tree.N, size, hashes)
		check(err)
		check(tlog.CheckTree(proof, tree.N, tree.Hash, size, root))
	}
	fmt.Println(tree.N)
}

// The signed head of the log (c2sp.org/tlog-checkpoint).
func openCheckpoint(bytes []byte, key string) tlog.Tree {
	verifier, err := note.NewVerifier(key)
	check(err)
	opened, err := note.Open(bytes, note.VerifierList(verifier))
	check(err)
	lines := strings.Split(opened.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check(err)
	hash, err := base64.StdEncoding.DecodeString(lines[2])
	check(err)
	tree := tlog.Tree{N: size}
	copy(tree.Hash[:], hash)
	return tree
}

// The tiles of a folder by the paths of c2sp.org/tlog-tiles, which are those of sumdb but for the height.
type tiles struct{ folder string }

func (tiles) Height() int { return 8 }

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	found := make([][]byte, len(wanted))
	for i, tile := range wanted {
		found[i] = read(t.folder, fmt.Sprintf("tile/%d/%s", tile.L, place(tile.N, int64(tile.W))))
	}
	return found, nil
}

func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func place(index, count int64) string {
	path := fmt.Sprintf("%03d", index%1000)
	for index /= 1000; index > 0; index /= 1000 {
		path = fmt.Sprintf("x%03d/%s", index%1000, path)
	}
	if count >= width {
		return path
	}
	return fmt.Sprintf("%s.p/%d", path, count)
}

// Each entry is after its length, two bytes, big-endian.
func entries(bundle []byte) [][]byte {
	var found [][]byte
	for len(bundle) > 0 {
		end := 2 + int(bundle[0])<<8 + int(bundle[1])
		found = append(found, bundle[2:end])
		bundle = bundle[end:]
	}
	return found
}

func read(folder, path string) []byte {
	bytes, err := os.ReadFile(filepath.Join(folder, path))
	check(err)
	return bytes
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
