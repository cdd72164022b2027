// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"os"
	"time"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// health is what a health script returns.
type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// runScript runs the health script as Argo CD does, in the same interpreter: the
// object is the global obj, and a second is all it gets. Argo CD opens a few
// libraries more; a script needs to know only these.
// https://argo-cd.readthedocs.io/en/stable/operator-manual/health/
func runScript(ctx context.Context, object *unstructured.Unstructured) (health, error) {
	script, err := os.ReadFile(healthScript)
	if err != nil {
		return health{}, err
	}
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	l.SetContext(ctx)
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return health{}, err
		}
	}
	l.SetGlobal("obj", toLua(l, object.Object))
	if err := l.DoString(string(script)); err != nil {
		return health{}, err
	}
	table, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		return health{}, fmt.Errorf("the script returned %s, not a table", l.Get(-1).Type())
	}
	return health{Status: table.RawGetString("status").String(), Message: table.RawGetString("message").String()}, nil
}

// toLua turns what JSON holds into what Lua holds.
func toLua(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		table := l.NewTable()
		for _, item := range v {
			table.Append(toLua(l, item))
		}
		return table
	case map[string]any:
		table := l.NewTable()
		for key, item := range v {
			table.RawSetString(key, toLua(l, item))
		}
		return table
	}
	return lua.LNil
}
