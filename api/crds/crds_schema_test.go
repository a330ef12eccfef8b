package crds_test

import (
	"flag"
	"testing"

	"github.com/karpenter-anew/karpenter/api/crds"
	"github.com/karpenter-anew/karpenter/test/crdtest"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/*.schema.txt from the definitions, for review")

func TestSchema(t *testing.T) {
	t.Attr("covers", "N258")
	definitions, err := crds.Core()
	if err != nil {
		t.Fatal(err)
	}
	crdtest.Schemas(t, definitions, *rewrite)
}
