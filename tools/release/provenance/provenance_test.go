package provenance

import (
	"encoding/json"
	"testing"

	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/karpenter-anew/karpenter/tools/release/checksum"
	"github.com/karpenter-anew/karpenter/tools/release/source"
)

// TestStatementIsValid has the library of in-toto check it, which shares no code with this package.
func TestStatementIsValid(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	text, err := Statement(Build{Source: source.Source{Commit: commit}, Version: "1.2.3", Builder: Local, Go: "go1.26.8"},
		map[string][]byte{"b": []byte("two"), "a": []byte("one")}, []Resource{{Name: "image", Digest: Digests{"sha256": checksum.Of(nil)}}})
	if err != nil {
		t.Fatal(err)
	}
	var s intoto.Statement
	if err := protojson.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	if len(s.Subject) != 3 || s.Subject[0].Name != "a" || s.Subject[0].Digest["sha256"] != checksum.Of([]byte("one")) {
		t.Errorf("subjects %v", s.Subject)
	}
	var raw struct{ Predicate json.RawMessage }
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	var p slsa.Provenance
	if err := protojson.Unmarshal(raw.Predicate, &p); err != nil {
		t.Fatal(err)
	}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
	if got := p.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"]; got != commit || s.PredicateType != "https://slsa.dev/provenance/v1" {
		t.Errorf("built from %s, predicate %s", got, s.PredicateType)
	}
}
