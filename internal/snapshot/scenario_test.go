package snapshot

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	awssnapshot "github.com/karpenter-anew/karpenter/cloud/aws/snapshot"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariofile"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariorun"
)

// newFormat is the format of snapshots of clusters on AWS.
func newFormat(t *testing.T) *Format {
	t.Helper()
	f, err := NewFormat(awssnapshot.Plugin())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newReader(t *testing.T) *manifest.Reader {
	t.Helper()
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	ec2, err := awscrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range ec2 {
		if d.Spec.Group == awsv1.Group {
			definitions = append(definitions, d)
		}
	}
	reader, err := manifest.NewReader(definitions, awsv1.AddToScheme)
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

// written returns the text of a snapshot.
func written(t *testing.T, reader *manifest.Reader, s Snapshot) []client.Object {
	t.Helper()
	var text bytes.Buffer
	if err := s.Write(&text); err != nil {
		t.Fatal(err)
	}
	m, err := reader.Read("snapshot.yaml", &text)
	if err != nil {
		t.Fatal(err)
	}
	return m.Objects
}

// TestTheSnapshotOfAScenarioHasItsPlan compares snapshots of all scenarios with the scenarios: they contain every field that
// scheduling reads, and redacting changes only names.
func TestTheSnapshotOfAScenarioHasItsPlan(t *testing.T) {
	scenarios, err := scenariofile.Load("../../test/scenario/testdata")
	if err != nil {
		t.Fatal(err)
	}
	reader, clouds := newReader(t), scenariorun.Clouds(t)
	for _, told := range scenarios {
		c := clouds(told.Options.Catalog)
		t.Run(told.Name, func(t *testing.T) {
			t.Parallel()
			plan := func(objects []client.Object) string {
				t.Helper()
				result, err := simulation.Run(context.Background(), objects, c, scenariorun.Settings(t, told))
				if err != nil {
					t.Fatal(err)
				}
				return result.Text()
			}
			objects := manifest.Expand(scenariorun.Objects(t, reader, told))
			want := plan(objects)
			s, err := newFormat(t).Of(objects)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, plan(written(t, reader, s))); diff != "" {
				t.Errorf("the plan for the snapshot (-plain +snapshot)\n%s", diff)
			}
			redacted, names, err := s.redact(c.Labels, []byte(told.Name))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(withoutDefault(want), withoutDefault(names.undo(plan(written(t, reader, redacted))))); diff != "" {
				t.Errorf("the plan for the redacted snapshot (-plain +redacted)\n%s", diff)
			}
		})
	}
}

var pseudonym = regexp.MustCompile(`r[0-9a-z]+-[0-9a-f]{8}!?`)

// undo replaces pseudonyms by their texts.
func (p *pseudonyms) undo(text string) string {
	original := map[string]string{}
	for name, replacement := range p.known {
		original[replacement] = name
	}
	return pseudonym.ReplaceAllStringFunc(text, func(found string) string {
		if name, ok := original[found]; ok {
			return name
		}
		return found
	})
}

// withoutDefault normalizes references to the namespace default: plans omit it, and a
// redacted plan cannot identify it.
func withoutDefault(text string) string { return strings.ReplaceAll(text, "default/", "") }
