package workload

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/bench/contest"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
)

// Synthetic catalogs are named by their kind and number of types: ladder-400.
const (
	ladderPrefix = "ladder-"
	marketPrefix = "market-"
)

// setCatalog sets the cloud and its instance types. Every pool may launch all of them.
func (c Case) setCatalog(ctx context.Context, in *contest.Input) error {
	for prefix, build := range map[string]func(int) []*cloud.InstanceType{ladderPrefix: ladder, marketPrefix: market} {
		count, ok := strings.CutPrefix(c.Catalog, prefix)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(count)
		if err != nil || n <= 0 {
			return fmt.Errorf("catalog %q: a number of types is expected after %q", c.Catalog, prefix)
		}
		class := cloud.NodeClass{GVK: v1alpha1.SchemeGroupVersion.WithKind("KWOKNodeClass")}
		in.Cloud = cloud.Cloud{Name: c.Catalog, Labels: v1.CoreLabelRules(), NodeClasses: []cloud.NodeClass{class}}
		in.Types = build(n)
		return nil
	}
	options := kwok.Options{Catalog: c.Catalog}
	if c.CatalogFile != "" {
		options.InstanceTypesFile = filepath.Join(c.folder, c.CatalogFile)
	}
	var err error
	if in.Cloud, err = kwok.New(nil, options); err != nil {
		return err
	}
	in.Types, err = in.Cloud.Provider.InstanceTypes(ctx, in.Pools[0])
	return err
}
