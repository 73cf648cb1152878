// A client of a witness that is made of Go's checksum-database packages: a log that grows, forks and lies.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A verifier of cosignatures, which the package itself does not have.
type cosigner struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func (c cosigner) Name() string    { return c.name }
func (c cosigner) KeyHash() uint32 { return c.hash }
func (c cosigner) Verify(text, sig []byte) bool {
	if len(sig) != 72 {
		return false
	}
	message := fmt.Sprintf("cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(sig), text)
	return ed25519.Verify(c.key, []byte(message), sig[8:])
}

func readCosigner(vkey string) cosigner {
	parts := strings.SplitN(vkey, "+", 3)
	hash, err := strconv.ParseUint(parts[1], 16, 32)
	check(err)
	key, err := base64.StdEncoding.DecodeString(parts[2])
	check(err)
	if key[0] != 4 {
		fail("the key is not for cosignatures")
	}
	return cosigner{parts[0], uint32(hash), key[1:]}
}

type tree struct {
	hashes []tlog.Hash
	size   int64
}

func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	list := make([]tlog.Hash, len(indexes))
	for at, index := range indexes {
		list[at] = t.hashes[index]
	}
	return list, nil
}

func (t *tree) grow(size int64, leaf string) {
	for ; t.size < size; t.size++ {
		stored, err := tlog.StoredHashes(t.size, []byte(fmt.Sprintf("%s %d", leaf, t.size)), t)
		check(err)
		t.hashes = append(t.hashes, stored...)
	}
}

type client struct {
	url      string
	signer   note.Signer
	log      note.Verifier
	cosigner note.Verifier
}

func (c client) sign(t *tree, size int64) []byte {
	root, err := tlog.TreeHash(size, t)
	check(err)
	signed, err := note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", c.signer.Name(), size, root)}, c.signer)
	check(err)
	return signed
}

func (c client) send(t *tree, old, size int64) (int, []byte, []byte) {
	var body bytes.Buffer
	fmt.Fprintf(&body, "old %d\n", old)
	if old > 0 && old < size {
		proof, err := tlog.ProveTree(size, old, t)
		check(err)
		for _, hash := range proof {
			fmt.Fprintf(&body, "%s\n", hash)
		}
	}
	signed := c.sign(t, size)
	body.WriteString("\n")
	body.Write(signed)
	answer, err := http.Post(c.url+"/add-checkpoint", "text/plain", &body)
	check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	check(err)
	return answer.StatusCode, text, signed
}

func main() {
	if os.Args[1] == "key" {
		private, public, err := note.GenerateKey(rand.Reader, "go.test/log")
		check(err)
		fmt.Printf("%s\n%s\n", private, public)
		return
	}
	signer, err := note.NewSigner(os.Args[2])
	check(err)
	verifier, err := note.NewVerifier(os.Args[3])
	check(err)
	c := client{os.Args[1], signer, verifier, readCosigner(os.Args[4])}
	keys := note.VerifierList(c.log, c.cosigner)

	// Every growth is cosigned, and the note opens with both signatures.
	log := &tree{}
	old, cosigned := int64(0), 0
	for _, size := range []int64{1, 2, 3, 3, 7, 8, 9, 64, 65, 255, 256, 257, 1000} {
		log.grow(size, "leaf")
		status, line, signed := c.send(log, old, size)
		if status != 200 {
			fail("growing from %d to %d was answered %d: %s", old, size, status, line)
		}
		opened, err := note.Open(append(signed, line...), keys)
		check(err)
		if len(opened.Sigs) != 2 {
			fail("%d of 2 signatures verified", len(opened.Sigs))
		}
		for at := range line[:len(line)-1] {
			flipped := append([]byte{}, line...)
			flipped[at] ^= 1
			opened, err := note.Open(append(c.sign(log, size), flipped...), keys)
			if err == nil && len(opened.Sigs) == 2 {
				fail("a cosignature with a flipped bit verified")
			}
		}
		old, cosigned = size, cosigned+1
	}

	// Everything else is refused, as the protocol says.
	log.grow(1200, "leaf")
	expect := func(what string, t *tree, old, size int64, want int, body string) {
		status, text, _ := c.send(t, old, size)
		if status != want || body != "" && string(text) != body {
			fail("%s was answered %d: %s", what, status, text)
		}
	}
	expect("another old size", log, 999, 1200, 409, "1000\n")
	expect("no old size", log, 0, 1200, 409, "1000\n")
	expect("an older tree", log, 500, 600, 409, "1000\n")
	expect("an old size above the new one", log, 1001, 1000, 400, "")
	fork := &tree{}
	fork.grow(999, "leaf")
	fork.grow(1200, "fork")
	expect("another root of the same size", fork, 1000, 1000, 409, "")
	expect("a fork", fork, 1000, 1200, 422, "")
	expect("the true log", log, 1000, 1200, 200, "")
	fmt.Printf("cosigned %d\n", cosigned)
}

func check(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}
