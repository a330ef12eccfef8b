package azuretest

import (
	"encoding/json"
	"net/http"
)

// batchMachine is an AKSMachine of a batch, as the header has it.
type batchMachine struct {
	MachineName string         `json:"machineName"`
	Zones       []any          `json:"zones"`
	Tags        map[string]any `json:"tags"`
}

// putBatch creates all AKSMachines that the header BatchPutMachine names with the same body. Those that cannot be created are the details
// of the error; the others exist.
//
// Source: Azure provider specification, header batching.
func (a *Account) putBatch(r *request, header string, body map[string]any) (*response, error) {
	var batch struct {
		BatchMachines []batchMachine `json:"batchMachines"`
	}
	if err := json.Unmarshal([]byte(header), &batch); err != nil || len(batch.BatchMachines) == 0 {
		return nil, refuse(http.StatusBadRequest, "InvalidParameter", "The header BatchPutMachine is invalid.")
	}
	poolID, name := splitMachine(r.http.URL.Path)
	if batch.BatchMachines[0].MachineName != name {
		return nil, refuse(http.StatusBadRequest, "InvalidParameter", "The first AKSMachine of the batch is not %s.", name)
	}
	var details []map[string]any
	var first *resource
	for _, m := range batch.BatchMachines {
		id := poolID + "/machines/" + m.MachineName
		if a.get(id) != nil {
			details = append(details, map[string]any{"target": m.MachineName, "code": "Conflict", "message": "The AKSMachine exists already."})
			continue
		}
		made, err := a.createMachine(r, machineRequest{id: id, body: body, zones: m.Zones, tags: m.Tags})
		if err != nil {
			failure := asAPIError(err)
			details = append(details, map[string]any{"target": m.MachineName, "code": failure.code, "message": failure.message})
			continue
		}
		if first == nil {
			first = made
		}
	}
	if details != nil {
		return nil, &apiError{status: http.StatusBadRequest, code: "BatchMachineClientError", message: "Some AKSMachines cannot be created.", details: details}
	}
	answer := &response{status: http.StatusCreated, body: first.showMachine(), header: http.Header{}}
	a.follow(r, answer, first.pendingID)
	return answer, nil
}
