package main

import (
	"fmt"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws"
	"github.com/karpenter-anew/karpenter/cloud/azure"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/command"
)

// providers lists the cloud providers of this binary, the default first. It is the one place that names them.
func providers() command.Providers {
	return command.Providers{
		kwok.Provider(),
		aws.Provider(),
		azure.Provider(),
	}
}

// encodeTypes writes instance types for simulated nodes, with notes on what is left out.
func encodeTypes(types []*cloud.InstanceType) (file []byte, notes []string, err error) {
	file, left, err := kwok.EncodeTypes(types)
	if left.Reserved > 0 {
		notes = append(notes, fmt.Sprintf("the shadow fleet has no capacity reservations: %d reserved offerings are left out", left.Reserved))
	}
	if left.Unpriced > 0 {
		notes = append(notes, fmt.Sprintf("the shadow fleet does not launch %d offerings whose price is not known", left.Unpriced))
	}
	return file, notes, err
}
