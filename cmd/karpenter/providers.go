package main

import (
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
