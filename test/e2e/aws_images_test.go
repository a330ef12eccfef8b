package e2e

import (
	"fmt"
	"testing"
	"time"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

// TestAWSDeprecatedImages: a deprecated image is used when there is no other one, and its nodes are replaced when
// there is one, even if that is older.
func TestAWSDeprecatedImages(t *testing.T) {
	t.Attr("covers", "A376")
	t.Parallel()
	w := begin(t)
	a := w.account("m5.large")
	golden := map[string]string{"golden": "yes"}
	image := func(id string, created, deprecated time.Time) {
		a.Account.AddImage(awstest.Image{
			ID: id, Name: "golden-al2023-" + id, Architecture: "x86_64", Owner: awstest.AccountID, Created: created, Deprecated: deprecated, Tags: golden,
		})
	}
	now := time.Now()
	image("ami-0001", now.Add(-time.Hour), now.Add(-time.Minute))
	const name = "golden"
	family := "AL2023"
	w.create(awsClass(name, func(c *awsv1.EC2NodeClass) {
		c.Spec.AMISelectorTerms, c.Spec.AMIFamily = []awsv1.AMISelectorTerm{{Tags: golden}}, &family
	}), awsPool(name, []string{"m5.large"}), awsPods(name, 1))
	first := w.controller(a.Flags()...)
	runs := func(id string) {
		w.t.Helper()
		w.await("one node has the image "+id, awsPatience, func() string {
			nodes := w.nodesOf(a, name)
			if len(nodes) != 1 || nodes[0].instance.Image != id {
				return fmt.Sprintf("%d nodes", len(nodes))
			}
			return ""
		})
	}
	runs("ami-0001")
	image("ami-0002", now.Add(-2*time.Hour), time.Time{})
	// What images there are is remembered for a while, but not by a new controller.
	w.must(first.Kill())
	w.controller(a.Flags()...)
	runs("ami-0002")
	w.awaitCases(map[string]int32{name: 1})
}
