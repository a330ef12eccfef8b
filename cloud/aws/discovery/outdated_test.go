package discovery_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

// read are the parameters that were read since the last time, sorted.
func (w *world) read() []string {
	w.t.Helper()
	var out []string
	for _, call := range w.Calls("GetParameter") {
		var in struct{ Name string }
		if err := json.Unmarshal([]byte(call.Body), &in); err != nil {
			w.t.Fatal(err)
		}
		out = append(out, in.Name)
	}
	w.Forget()
	slices.Sort(out)
	return out
}

func TestOutdatedImagesForgetParameters(t *testing.T) {
	t.Attr("covers", "A348")
	w := newWorld(t, awstest.Options{})
	const base, pinned = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/", "amazon-eks-node-al2023-x86_64-standard-1.34-v20260101"
	standard, nvidia, custom := base+"standard/recommended/image_id", base+"nvidia/recommended/image_id", "/mine"
	shared := w.Parameter(standard)
	w.SetParameter(nvidia, shared)
	w.SetParameter(custom, shared)
	classes := []*awsv1.EC2NodeClass{
		w.class(awsv1.EC2NodeClassSpec{AMISelectorTerms: []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}}),
		w.class(awsv1.EC2NodeClassSpec{AMISelectorTerms: []awsv1.AMISelectorTerm{{Alias: "al2023@v20260101"}}}),
		w.class(awsv1.EC2NodeClassSpec{AMISelectorTerms: []awsv1.AMISelectorTerm{{SSMParameter: custom}}}),
	}
	resolve := func() {
		t.Helper()
		for _, c := range classes {
			if _, err := w.Images(t.Context(), c, "1.34"); err != nil {
				t.Fatal(err)
			}
		}
	}
	forget := func() {
		t.Helper()
		if err := w.ForgetOutdated(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(w.Calls("DescribeImages")); n != 1 {
			t.Errorf("%d questions for images", n)
		}
		w.Forget()
		w.clock.Step(2 * time.Minute) // images are asked for anew, parameters are not
	}
	if err := w.ForgetOutdated(t.Context()); err != nil || len(w.Calls("")) != 0 {
		t.Errorf("%v after %d calls about nothing", err, len(w.Calls("")))
	}
	resolve()
	if got := w.read(); !slices.Contains(got, standard) || !slices.Contains(got, nvidia) || !slices.Contains(got, custom) || !slices.Contains(got, base+"standard/"+pinned+"/image_id") {
		t.Fatalf("read %v", got)
	}
	forget()
	resolve()
	if got := w.read(); len(got) != 0 {
		t.Errorf("read %v although no image is outdated", got)
	}
	w.AddImage(awstest.Image{ID: shared, Name: pinned, Architecture: "x86_64", Owner: "amazon", Created: w.clock.Now().Add(-time.Hour), Deprecated: w.clock.Now()})
	w.AddImage(awstest.Image{ID: "ami-new", Name: "new", Architecture: "x86_64", Owner: "amazon", Created: w.clock.Now()})
	w.SetParameter(standard, "ami-new")
	w.SetParameter(nvidia, "ami-new")
	forget()
	resolve()
	if diff := cmp.Diff([]string{nvidia, standard}, w.read()); diff != "" {
		t.Errorf("parameters that were read (-want +got)\n%s", diff)
	}
	w.Account.Fail("DescribeImages", awstest.Throttled, "slow down", -1)
	if err := w.ForgetOutdated(t.Context()); err == nil {
		t.Error("a question that failed is not told")
	}
}
