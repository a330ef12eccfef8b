package snapshot

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/internal/command/source"
	"github.com/karpenter-anew/karpenter/internal/snapshot"
	"github.com/karpenter-anew/karpenter/test/commandtest"
)

// TestSnapshotOnAzure compares the plain and the redacted snapshot of objects on Azure. Both are valid by the definitions of the kinds, and the
// redacted one shows nothing that is private.
func TestSnapshotOnAzure(t *testing.T) {
	const file = "testdata/azure.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := source.NewPlace(commandtest.Binary()).Reader()
	if err != nil {
		t.Fatal(err)
	}
	format, err := source.Format(commandtest.Binary().Providers)
	if err != nil {
		t.Fatal(err)
	}
	m, err := reader.Read("input.yaml", bytes.NewReader(archive.Files[0].Data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := format.Of(m.Objects)
	if err != nil {
		t.Fatal(err)
	}
	redacted, err := plain.Redacted(label.Rules(), []byte("salt"))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range []snapshot.Snapshot{plain, redacted} {
		var out bytes.Buffer
		if err := s.Write(&out); err != nil {
			t.Fatal(err)
		}
		if _, err := reader.Read("snapshot.yaml", bytes.NewReader(out.Bytes())); err != nil {
			t.Errorf("snapshot %d is not valid: %v", i, err)
		}
		if *commandtest.Update {
			archive.Files[i+1].Data = out.Bytes()
			continue
		}
		if diff := cmp.Diff(string(archive.Files[i+1].Data), out.String()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", archive.Files[i+1].Name, diff)
		}
	}
	if *commandtest.Update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if found := regexp.MustCompile(`(?i).*(private|1111-).*`).Find(archive.Files[2].Data); found != nil {
		t.Errorf("the redacted snapshot shows %q", found)
	}
	if found := regexp.MustCompile(`(?i).*confidential.*`).Find(archive.Files[1].Data); found != nil {
		t.Errorf("the snapshot shows %q", found)
	}
}
