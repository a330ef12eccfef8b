package main

import (
	"fmt"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/internal/demo"
)

// driftName is the scene of nodes that are replaced after an edit of their NodePool.
const driftName = "drift"

// cloudDriftScene is the scene drift of the simulated cloud, with instances of a test server; at the end none of them is left.
func cloudDriftScene(cloud string) scene {
	cores := awsv1.LabelInstanceCPU
	if cloud == cloudAzure {
		cores = label.SKUCPU
	}
	one := demo.DriftScene(demo.Cores(cores, "4"))
	perform := one.Perform
	one.Perform = nil
	return scene{Scene: one, onCloud: func(p *play) (fmt.Stringer, error) {
		figures, err := perform(p.Play)
		if err != nil {
			return nil, err
		}
		if err := p.Scale(0); err != nil {
			return nil, err
		}
		return figures, p.wait("no node and no instance left", func(c demo.Counts) bool { return c.Nodes+c.Claims+c.Running+c.Pending+p.left() == 0 })
	}}
}

// left counts what the test server has of nodes.
func (p *play) left() int {
	if p.azure != nil {
		return len(p.leftOnAzure())
	}
	return len(p.running())
}
