package snapshot

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/karpenter-anew/karpenter/internal/manifest"
)

// threeNodes is the text of a snapshot.
func threeNodes(t *testing.T, reader *manifest.Reader) string {
	t.Helper()
	var in strings.Builder
	for _, name := range []string{"a", "b", "c"} {
		fmt.Fprintf(&in, "---\napiVersion: v1\nkind: Node\nmetadata: {name: %s}\n", name)
	}
	return textOf(t, reader, in.String())
}

// textOf is the text of a snapshot of the objects of a manifest.
func textOf(t *testing.T, reader *manifest.Reader, objects string) string {
	t.Helper()
	m, err := reader.Read("in.yaml", strings.NewReader(objects))
	if err != nil {
		t.Fatal(err)
	}
	s, err := newFormat(t).Of(m.Objects)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := s.Write(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestCutSnapshotsAreRefused cuts a snapshot after each of its bytes. Where the comments are cut, no object is left.
func TestCutSnapshotsAreRefused(t *testing.T) {
	reader := newReader(t)
	text := threeNodes(t, reader)
	for n := range len(text) {
		held, err := Read(reader, manifest.Stdin, strings.NewReader(text[:n]))
		switch complete := n >= len(text)-len("\n"); {
		case complete && (err != nil || len(held.Objects) != 3):
			t.Errorf("after %d bytes, without the last line feed: %d objects, %v", n, len(held.Objects), err)
		case !complete && err == nil && len(held.Objects) > 0:
			t.Errorf("after %d bytes: %d objects and no error", n, len(held.Objects))
		}
	}
	second := strings.Index(text, "---\n") + 1
	second += strings.Index(text[second:], "---\n")
	const between = `the snapshot stdin is incomplete: it has 1 of 3 objects, and the end is missing: copy it or capture it again; if you have removed the end, add the line "# End of the snapshot"`
	if _, err := Read(reader, manifest.Stdin, strings.NewReader(text[:second])); err == nil || err.Error() != between {
		t.Errorf("cut between documents: %v, want %s", err, between)
	}
	within := strings.Replace(text[:second], "name: a", "name: {a", 1)
	_, err := Read(reader, manifest.Stdin, strings.NewReader(within))
	for _, want := range []string{"the snapshot stdin is incomplete: of 3 objects not all can be read", "stdin:7 (document 1): not YAML"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("cut within a document: %v, want %s", err, want)
		}
	}
}

// TestCutFilesAreRefused cuts a compressed snapshot after each of its bytes.
func TestCutFilesAreRefused(t *testing.T) {
	reader := newReader(t)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.WriteString(z, threeNodes(t, reader)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cluster.yaml.gz")
	for n := range packed.Len() + 1 {
		if err := os.WriteFile(file, packed.Bytes()[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(reader, file, nil); (err == nil) != (n == packed.Len()) {
			t.Errorf("after %d of %d bytes: error %v", n, packed.Len(), err)
		}
	}
}

// TestEditedSnapshotsAreRead checks that edits by hand need no other number of objects, and that snapshots without a number are read, with a note
// for those of an earlier version.
func TestEditedSnapshotsAreRead(t *testing.T) {
	reader := newReader(t)
	text := threeNodes(t, reader)
	const another = "---\napiVersion: v1\nkind: Node\nmetadata: {name: d}\n"
	documents := strings.SplitAfter(text, "---\n")
	count := counted + "3\n"
	for name, c := range map[string]struct {
		text    string
		objects int
		notes   int
	}{
		"as it was captured":           {text, 3, 0},
		"without an object":            {strings.Join(documents[:2], "") + strings.Join(documents[3:], ""), 2, 0},
		"with another before the end":  {strings.Replace(text, ended, another+ended, 1), 4, 0},
		"with another after the end":   {text + another, 4, 0},
		"with lines of another system": {strings.ReplaceAll(text, "\n", "\r\n"), 3, 0},
		"of an earlier version":        {strings.NewReplacer(count, "", ended, "").Replace(text), 3, 1},
		"written by hand":              {another, 1, 0},
		"with the comment of an end in its text": {
			strings.Replace(strings.Replace(text, ended, "", 1), count, "", 1) + "---\n# End of the snapshot\n", 3, 1,
		},
	} {
		for how, from := range map[string]io.Reader{"at once": strings.NewReader(c.text), "by the byte": iotest.OneByteReader(strings.NewReader(c.text))} {
			held, err := Read(reader, manifest.Stdin, from)
			if err != nil || len(held.Objects) != c.objects || len(held.Notes()) != c.notes {
				t.Errorf("%s, %s: %d objects, notes %q, error %v; want %d objects and %d notes", name, how, len(held.Objects), held.Notes(), err, c.objects, c.notes)
			}
		}
	}
}

// TestTextOfObjectsIsNoEnd checks that a snapshot whose objects have the text of the end is refused if it is cut.
func TestTextOfObjectsIsNoEnd(t *testing.T) {
	reader := newReader(t)
	text := textOf(t, reader, "apiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {x: z}}\nspec: {taints: [{key: k, value: \"a\\n"+ended+"\\nb\", effect: NoSchedule}]}\n")
	cut := strings.TrimSuffix(text, ended+"\n")
	if !strings.Contains(cut, ended) || len(cut) == len(text) {
		t.Fatalf("the text is not as expected:\n%s", text)
	}
	if _, err := Read(reader, manifest.Stdin, strings.NewReader(cut)); err == nil {
		t.Errorf("no error for\n%s", cut)
	}
}

// FuzzComments checks that the comments of a snapshot leave the text as it is, and that the end is found in any parts of it.
func FuzzComments(f *testing.F) {
	for _, seed := range []string{header, header + unlisted + "OperationsPolicy, ConfigMap\n" + counted + "3\n---\nkind: Node\n" + ended, counted, "#\r\n" + counted + "\r\n", "\n" + ended + "\n" + ended} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, text string, part int) {
		read := bufio.NewReader(strings.NewReader(text))
		b := beginOf(read)
		if left, err := io.ReadAll(read); err != nil || string(left) != text {
			t.Errorf("%q became %q, error %v", text, left, err)
		}
		if b.objects != "" && !strings.Contains(text, counted+b.objects) {
			t.Errorf("%q has %q objects", text, b.objects)
		}
		part = min(max(part, 1), 64)
		var end endFinder
		for rest := []byte(text); len(rest) > 0; {
			n, err := end.Write(rest[:min(part, len(rest))])
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if want := strings.Contains(text, "\n"+ended); end.found != want {
			t.Errorf("%q in parts of %d bytes: the end is found: %v, want %v", text, part, end.found, want)
		}
	})
}
