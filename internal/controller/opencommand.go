package controller

import "github.com/karpenter-anew/karpenter/internal/controller/disruption"

// OpenCommand is a disruption command that waits for its validation or is under way.
type OpenCommand = disruption.OpenCommand
