// Reads a transparency log over HTTP with the packages of Go's checksum database, and fails at the first fault.
//
// usage: log-reader URL VKEY PROOFS
//
// PROOFS is a JSON file: {"inclusion": [{"index", "size", "root", "path"}], "consistency": [{"old", "oldRoot", "size",
// "root", "path"}]} with hashes in hex. They are proofs that the log made, which this program checks too.
package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type inclusion struct {
	Index, Size int64
	Root        string
	Path        []string
}

type consistency struct {
	Old, Size     int64
	OldRoot, Root string
	Path          []string
}

type proofs struct {
	Inclusion   []inclusion
	Consistency []consistency
}

type reader struct{ url string }

func (r reader) Height() int { return 8 }

func (r reader) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, tile := range tiles {
		data, err := r.get(strings.TrimPrefix(tile.Path(), "tile/8/"))
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}

func (r reader) SaveTiles([]tlog.Tile, [][]byte) {}

func (r reader) get(path string) ([]byte, error) {
	return fetch(r.url + "/log/tile/" + path)
}

func fetch(url string) ([]byte, error) {
	answer, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != 200 {
		return nil, fmt.Errorf("%s answered %s", url, answer.Status)
	}
	return io.ReadAll(answer.Body)
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("verified")
}

func run(url, vkey, file string) error {
	// 1. The note.
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return fmt.Errorf("verifier key: %w", err)
	}
	signed, err := fetch(url + "/log/checkpoint")
	if err != nil {
		return err
	}
	opened, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		return fmt.Errorf("note: %w", err)
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[0] != verifier.Name() {
		return fmt.Errorf("note: not a checkpoint of %s", verifier.Name())
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return err
	}
	bytes, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(bytes) != tlog.HashSize {
		return fmt.Errorf("note: not a root")
	}
	var root tlog.Hash
	copy(root[:], bytes)
	tree := tlog.Tree{N: size, Hash: root}
	hashes := tlog.TileHashReader(tree, reader{url})

	// 2. Every entry is the leaf that the tree has, and is proved from the tiles.
	leaves, err := entries(reader{url}, size)
	if err != nil {
		return err
	}
	for index, leaf := range leaves {
		proof, err := tlog.ProveRecord(size, int64(index), hashes)
		if err != nil {
			return fmt.Errorf("proof of %d: %w", index, err)
		}
		if err := tlog.CheckRecord(proof, size, root, int64(index), leaf); err != nil {
			return fmt.Errorf("entry %d: %w", index, err)
		}
	}

	// 3. Every smaller tree is the beginning of this one.
	for old := int64(1); old < size; old += 1 + size/40 {
		oldRoot, err := tlog.TreeHash(old, hashes)
		if err != nil {
			return fmt.Errorf("tree of %d: %w", old, err)
		}
		proof, err := tlog.ProveTree(size, old, hashes)
		if err != nil {
			return fmt.Errorf("consistency with %d: %w", old, err)
		}
		if err := tlog.CheckTree(proof, size, root, old, oldRoot); err != nil {
			return fmt.Errorf("consistency with %d: %w", old, err)
		}
	}

	// 4. The proofs that the log made.
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var given proofs
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	for _, each := range given.Inclusion {
		if err := tlog.CheckRecord(path(each.Path), each.Size, parse(each.Root), each.Index, leaves[each.Index]); err != nil {
			return fmt.Errorf("given proof of %d: %w", each.Index, err)
		}
	}
	for _, each := range given.Consistency {
		if err := tlog.CheckTree(path(each.Path), each.Size, parse(each.Root), each.Old, parse(each.OldRoot)); err != nil {
			return fmt.Errorf("given consistency of %d with %d: %w", each.Size, each.Old, err)
		}
	}
	return nil
}

func entries(r reader, size int64) ([]tlog.Hash, error) {
	var leaves []tlog.Hash
	for index := int64(0); index*256 < size; index++ {
		name := fmt.Sprintf("entries/%03d", index)
		if size-index*256 < 256 {
			name += fmt.Sprintf(".p/%d", size-index*256)
		}
		bundle, err := r.get(name)
		if err != nil {
			return nil, err
		}
		for len(bundle) > 0 {
			if len(bundle) < 2 || len(bundle)-2 < int(binary.BigEndian.Uint16(bundle)) {
				return nil, fmt.Errorf("%s ends within an entry", name)
			}
			end := 2 + int(binary.BigEndian.Uint16(bundle))
			leaves = append(leaves, tlog.RecordHash(bundle[2:end]))
			bundle = bundle[end:]
		}
	}
	if int64(len(leaves)) != size {
		return nil, fmt.Errorf("%d entries in a tree of %d", len(leaves), size)
	}
	return leaves, nil
}

func parse(text string) tlog.Hash {
	var hash tlog.Hash
	bytes, _ := hex.DecodeString(text)
	copy(hash[:], bytes)
	return hash
}

func path(texts []string) []tlog.Hash {
	hashes := make([]tlog.Hash, 0, len(texts))
	for _, text := range texts {
		hashes = append(hashes, parse(text))
	}
	return hashes
}
