package snapshot

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
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
			pseudonymous := written(t, reader, redacted)
			if diff := cmp.Diff(normalized(want), normalized(names.undo(plan(pseudonymous)))); diff != "" {
				t.Errorf("the plan for the redacted snapshot (-plain +redacted)\n%s", diff)
			}
			if IsRedacted(objects) || !IsRedacted(pseudonymous) {
				t.Errorf("IsRedacted is %t for the objects and %t for the redacted snapshot", IsRedacted(objects), IsRedacted(pseudonymous))
			}
		})
	}
}

// TestRedactionKeepsDrift checks that a NodeClaim matches its NodePool after redaction if it did before.
func TestRedactionKeepsDrift(t *testing.T) {
	const pool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: batch}
spec:
  template:
    metadata: {labels: {team: secret}, annotations: {example.com/owner: someone}}
    spec:
      expireAfter: 48h
      taints: [{key: team, value: secret, effect: NoSchedule}]
      requirements: []
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: small}
---
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: small}
`
	const claim = `
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: batch-%[1]s
  labels: {karpenter.sh/nodepool: batch, team: secret}
  annotations: {karpenter.sh/nodepool-hash: "%[1]s", karpenter.sh/nodepool-hash-version: %[2]s}
spec:
  requirements: []
  nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: small}
status: {providerID: "kwok://%[1]s"}
`
	reader, c := newReader(t), scenariorun.Clouds(t)("")
	read := func(text string) []client.Object {
		t.Helper()
		m, err := reader.Read("in.yaml", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return m.Objects
	}
	live, ok := read(pool)[0].(*v1.NodePool)
	if !ok {
		t.Fatal("the first object is no NodePool")
	}
	objects := read(pool + fmt.Sprintf(claim, live.Hash(), v1.NodePoolHashVersion) + fmt.Sprintf(claim, "1234", v1.NodePoolHashVersion))
	drifted := func(objects []client.Object) []simulation.DriftedPool {
		t.Helper()
		result, err := simulation.Run(context.Background(), objects, c, simulation.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range result.Drifted {
			result.Drifted[i].Name = ""
		}
		return result.Drifted
	}
	s, err := newFormat(t).Of(objects)
	if err != nil {
		t.Fatal(err)
	}
	redacted, err := s.Redacted(c.Labels, []byte("salt"))
	if err != nil {
		t.Fatal(err)
	}
	want := []simulation.DriftedPool{{Drifted: 1, NodeClaims: 2}}
	plain := written(t, reader, s)
	for name, objects := range map[string][]client.Object{
		"plain": plain, "redacted": written(t, reader, redacted), "plain, with the same NodePool": simulation.Apply(plain, read(pool)),
	} {
		if diff := cmp.Diff(want, drifted(objects)); diff != "" {
			t.Errorf("drift in the snapshot, %s (-want +got)\n%s", name, diff)
		}
	}
	want[0].Drifted = 2
	edited := strings.Replace(pool, "48h", "24h", 1)
	if diff := cmp.Diff(want, drifted(simulation.Apply(plain, read(edited)))); diff != "" {
		t.Errorf("drift after an edit (-want +got)\n%s", diff)
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

// normalized normalizes references to the namespace default: plans omit it, and a redacted plan cannot identify it. Plans list workloads
// by namespace, so that those of the same nodes are sorted again.
func normalized(text string) string {
	return workloads.ReplaceAllStringFunc(strings.ReplaceAll(text, "default/", ""), func(list string) string {
		names := strings.Split(list, ", ")
		slices.Sort(names)
		return strings.Join(names, ", ")
	})
}

// workloads is a list of workloads with their numbers of pods.
var workloads = regexp.MustCompile(`\S+ \(\d+\)(, \S+ \(\d+\))+`)
