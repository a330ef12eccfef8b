package snapshot

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	awssnapshot "github.com/karpenter-anew/karpenter/cloud/aws/snapshot"
)

var update = flag.Bool("update", false, "rewrite the snapshots in testdata")

// TestSnapshotsHoldWhatIsListed compares snapshots, plain and redacted, with those on file.
func TestSnapshotsHoldWhatIsListed(t *testing.T) {
	const file = "testdata/everything.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	plain, redacted := snapshotsOf(t, archive.Files[0].Data)
	if *update {
		archive.Files[1].Data, archive.Files[2].Data = plain, redacted
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(archive.Files[1].Data), string(plain)); diff != "" {
		t.Errorf("the snapshot (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(string(archive.Files[2].Data), string(redacted)); diff != "" {
		t.Errorf("the redacted snapshot (-want +got)\n%s", diff)
	}
	for name, text := range map[string][]byte{"snapshot": plain, "redacted snapshot": redacted} {
		if found := regexp.MustCompile(`(?i).*confidential.*`).Find(text); found != nil {
			t.Errorf("the %s shows %q", name, found)
		}
	}
	if found := regexp.MustCompile(`(?i).*(private|10\.1\.2\.3|111122223333).*`).Find(redacted); found != nil {
		t.Errorf("the redacted snapshot shows %q", found)
	}
}

// TestLiveCommandsReadMessages: beside the fields of a snapshot, they read messages, and what the definitions of kinds demand.
func TestLiveCommandsReadMessages(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/everything.txtar")
	if err != nil {
		t.Fatal(err)
	}
	m, err := newReader(t).Read("input.yaml", bytes.NewReader(archive.Files[0].Data))
	if err != nil {
		t.Fatal(err)
	}
	format, err := NewLiveFormat(awssnapshot.Plugin())
	if err != nil {
		t.Fatal(err)
	}
	s, err := format.Of(m.Objects)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := s.Write(&text); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for document := range strings.SplitSeq(text.String(), "\n---\n") {
		_, kind, _ := strings.Cut(document, "\nkind: ")
		kind, _, _ = strings.Cut(kind, "\n")
		for line := range strings.Lines(document) {
			if !strings.Contains(line, "CONFIDENTIAL") {
				continue
			}
			if !strings.HasPrefix(strings.TrimLeft(line, " -"), "message: ") {
				t.Errorf("of kind %s is read: %s", kind, line)
			}
			kinds[kind] = true
		}
	}
	if diff := cmp.Diff(map[string]bool{"Node": true, "NodeClaim": true, "NodePool": true, "Pod": true}, kinds); diff != "" {
		t.Errorf("kinds with messages (-want +got)\n%s", diff)
	}
}

// snapshotsOf is the snapshot of a cluster with the objects of a manifest, plain and redacted. Both are valid by the definitions of the
// kinds.
func snapshotsOf(t *testing.T, text []byte) (plain, redacted []byte) {
	t.Helper()
	m, err := newReader(t).Read("input.yaml", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := newFormat(t).Of(m.Objects)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Redacted(awsv1.LabelRules(), []byte("salt"))
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	for s, to := range map[*Snapshot]*bytes.Buffer{&s: &first, &r: &second} {
		written(t, newReader(t), *s)
		if err := s.Write(to); err != nil {
			t.Fatal(err)
		}
	}
	return first.Bytes(), second.Bytes()
}

// TestTheOrderIsFixed checks that the same objects give the same bytes, in any order.
func TestTheOrderIsFixed(t *testing.T) {
	const a = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: two}\n---\n"
	const b = "apiVersion: v1\nkind: Pod\nmetadata: {name: b, namespace: one}\n---\n"
	const node = "apiVersion: v1\nkind: Node\nmetadata: {name: box}\n---\n"
	first, redacted := snapshotsOf(t, []byte(a+b+node))
	second, again := snapshotsOf(t, []byte(node+b+a))
	if !bytes.Equal(first, second) || !bytes.Equal(redacted, again) {
		t.Errorf("%s\nis not\n%s", first, second)
	}
	if at := strings.Index; at(string(first), "kind: Node") > at(string(first), "name: b") || at(string(first), "name: b") > at(string(first), "name: a") {
		t.Errorf("not by kind, namespace and name:\n%s", first)
	}
}

// TestSaltsDecideReplacements checks that the hashes of two redacted snapshots do not show that they are of the same cluster.
func TestSaltsDecideReplacements(t *testing.T) {
	name := func(salt string) string {
		p := newPseudonyms([]byte(salt))
		p.note("a")
		p.settle()
		return p.of("a")
	}
	first, again, other := name("x"), name("x"), name("y")
	if first != again || first == other {
		t.Errorf("pseudonyms %s, %s with salt x and %s with salt y", first, again, other)
	}
}

// TestPseudonymsSortAsTheirTexts checks the order of pseudonyms, also of composed ones and their parts.
func TestPseudonymsSortAsTheirTexts(t *testing.T) {
	sorted := []string{"", "api", "db", "db-0", "db-1", "not valid!", "web", "web-7d9", "web-8c", "web8"}
	p := newPseudonyms(nil)
	p.compose("web-7d9", "web", "7d9")
	for _, text := range sorted {
		if p.note(text) != text {
			t.Errorf("noting changed %q", text)
		}
	}
	p.settle()
	for i := 1; i < len(sorted); i++ {
		if a, b := p.of(sorted[i-1]), p.of(sorted[i]); a >= b {
			t.Errorf("%q is %q, %q is %q: the order is lost", sorted[i-1], a, sorted[i], b)
		}
	}
	if got, want := p.of("web-7d9"), p.of("web")+"-"+p.of("7d9"); got != want {
		t.Errorf("a name in parts became %q, want %q", got, want)
	}
	if got := p.of("not valid!"); !strings.HasSuffix(got, "!") {
		t.Errorf("a text that is no label value became %q", got)
	}
}

func TestFilesRoundTrip(t *testing.T) {
	reader := newReader(t)
	m, err := reader.Read("in.yaml", strings.NewReader("apiVersion: v1\nkind: Node\nmetadata: {name: box}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := newFormat(t).Of(m.Objects)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, file := range []string{"plain.yaml", "small.yaml.gz"} {
		path := filepath.Join(dir, file)
		if err := s.Save(path); err != nil {
			t.Fatal(err)
		}
		back, err := Read(reader, path, nil)
		if err != nil || len(back.Objects) != 1 || back.Objects[0].GetName() != "box" {
			t.Errorf("%s: %v, %v", file, back.Objects, err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if isText := bytes.HasPrefix(text, []byte(header)); isText != (file == "plain.yaml") {
			t.Errorf("%s begins with the header: %t", file, isText)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want it for its owner only", file, info.Mode(), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := s.Save(filepath.Join(dir, "none", "plain.yaml")); err == nil {
		t.Error("saved into a directory that is not there")
	}
}

// TestInvalidSnapshotsAreRejected checks that errors name file, line and field.
func TestInvalidSnapshotsAreRejected(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"wrong.yaml":     {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodename: b\n", "wrong.yaml:5 (document 1): Pod a: spec.nodename: unknown field"},
		"cut.yaml":       {"apiVersion: v1\nkind: Pod\nmetadata: {name: a", "cut.yaml:"},
		"plain.yaml.gz":  {"apiVersion: v1\n", "plain.yaml.gz: gzip: invalid header"},
		"broken.yaml.gz": {"\x1f\x8b\x08\x00\x00\x00\x00\x00", "broken.yaml.gz"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(newReader(t), path, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestFieldsOfUnclearFormAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"a field of nothing":     "  a\n",
		"too deep":               "kind Pod v1\n      a\n",
		"an unknown mark":        "kind Pod v1\n  a loud\n",
		"an unknown group":       "kind Pod v1\n  a @b\n",
		"a field twice":          "kind Pod v1\n  a\n  a\n",
		"something below a leaf": "kind Pod v1\n  a =\n    b\n",
		"a kind without version": "kind Pod\n",
		"too many words":         "kind Pod v1\n  a = b\n",
	} {
		if _, err := newFormat(t).parse(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
