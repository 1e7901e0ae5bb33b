"""The --json of squeue, sacct, sinfo and scontrol show, as Slurm 22.05's data parser has it: one
table for each kind, a member's value or a function of the row. Their --yaml prints the same, which
is YAML as well."""
import json
import os

from . import jobs, requeue, reservations

META = {"plugin": {"type": "openapi/v0.0.38", "name": "Slurm OpenAPI v0.0.38"},
        "Slurm": {"version": {"major": 22, "micro": 8, "minor": 5}, "release": "22.05.8"}}


def whole(at):
    return int(at or 0)


def code(job):
    return int(job.exit.split(":")[0])


def gres(job):
    return "gres:gpu:%d" % job.gpus if job.gpus else ""


JOB = {
    "account": lambda j: j.account, "accrue_time": lambda j: whole(j.data.get("submitted_at")),
    "array_job_id": lambda j: j.array or 0, "array_task_id": lambda j: j.task,
    "array_max_tasks": lambda j: j.data.get("array_at_once") or 0, "array_task_string": "",
    "batch_flag": lambda j: j.is_batch, "batch_host": lambda j: j.where,
    "cluster": jobs.CLUSTER, "command": lambda j: j.command,
    "comment": lambda j: j.data.get("comment") or "", "contiguous": False,
    "cpus": lambda j: j.cpus, "cpus_per_task": lambda j: max(1, j.cpus // j.tasks),
    "current_working_directory": lambda j: j.directory,
    "dependency": lambda j: "" if j.dependency == "(null)" else j.dependency,
    "derived_exit_code": 0,
    "eligible_time": lambda j: whole(j.begins or j.data.get("submitted_at")),
    "end_time": lambda j: whole(j.ends), "excluded_nodes": "", "exit_code": code, "features": "",
    "flags": [], "gres_detail": lambda j: ["gpu:%d" % j.gpus] if j.gpus and j.where else [],
    "group_id": lambda j: j.gid, "group_name": lambda j: j.group, "job_id": lambda j: j.raw,
    "job_state": lambda j: j.state, "licenses": "", "max_cpus": 0, "max_nodes": 0,
    "memory_per_cpu": None, "memory_per_node": lambda j: j.mib or None,
    "minimum_cpus_per_node": lambda j: j.cpus, "name": lambda j: j.name, "nice": None,
    "node_count": 1, "nodes": lambda j: j.where, "partition": jobs.PARTITION,
    "priority": lambda j: j.data.get("priority") or 0, "qos": lambda j: j.qos,
    "requeue": requeue.is_possible, "required_nodes": "", "restart_cnt": lambda j: j.restarts,
    "resv_name": lambda j: j.reservation, "standard_error": lambda j: j.errors,
    "standard_input": lambda j: j.input,
    "standard_output": lambda j: j.output, "start_time": lambda j: whole(j.started or j.predicted),
    "state_description": "", "state_reason": lambda j: j.reason,
    "submit_time": lambda j: whole(j.data.get("submitted_at")), "suspend_time": 0,
    "tasks": lambda j: j.tasks,
    "time_limit": lambda j: None if j.limit is None else int(j.limit) // 60, "time_minimum": 0,
    "tres_alloc_str": lambda j: "" if j.is_pending else j.tres_by_count(),
    "tres_per_job": gres, "tres_per_node": "", "tres_req_str": lambda j: j.tres_by_count(),
    "user_id": lambda j: j.uid, "user_name": lambda j: j.user, "wckey": "",
}
NODE = {
    "active_features": "", "address": jobs.HOST, "alloc_cpus": lambda n: n.used,
    "alloc_memory": lambda n: n.used_mib, "boards": 1, "comment": "",
    "cores": lambda n: n.cores, "cpu_load": lambda n: int(os.getloadavg()[0] * 100),
    "cpus": lambda n: n.cores, "features": "",
    "gres": lambda n: "" if n.gres == "(null)" else n.gres,
    "gres_used": lambda n: "gpu:%d" % n.busy, "hostname": jobs.HOST,
    "idle_cpus": lambda n: n.cores - n.used, "name": jobs.HOST, "partitions": [jobs.PARTITION],
    "real_memory": lambda n: n.mib, "reason": "", "slurmd_version": "22.05.8", "sockets": 1,
    "state": lambda n: n.state, "state_flags": [], "temporary_disk": 0, "threads": 1,
    "tres": lambda n: n.tres, "tres_used": lambda n: n.used_tres, "weight": 1,
}
RESERVATION = {
    "accounts": "", "burst_buffer": "", "core_count": 0, "core_spec_cnt": 0,
    "end_time": lambda r: whole(r["until_at"]), "features": "", "flags": ["IGNORE_JOBS"],
    "groups": "", "licenses": "", "max_start_delay": 0, "name": reservations.name, "node_count": 1,
    "node_list": jobs.HOST, "partition": "", "purge_completed": {"time": 0},
    "start_time": lambda r: whole(r["from_at"]), "watts": 0, "tres": reservations.tres,
    "users": lambda r: ",".join(r["users"]),
}


def exit_of(row):
    number, _, signal = row.exit.partition(":")
    ended = "SUCCESS" if row.exit == "0:0" else "SIGNALED" if signal != "0" else "ERROR"
    told = {"status": ended if row.ended else "PENDING", "return_code": int(number)}
    return {**told, "signal": {"signal_id": int(signal)}} if signal != "0" else told


def times_of(row):
    return {"elapsed": int(row.elapsed), "start": whole(row.started), "end": whole(row.ended),
            "suspended": int(row.suspended)}


def tres_of(job):
    parts = [("cpu", "", job.cpus), ("mem", "", job.mib), ("node", "", 1),
             ("gres", "gpu", job.gpus)]
    return [{"type": kind, "name": name, "count": count} for kind, name, count in parts if count]


STEP = {
    "step": lambda s: {"id": s.label, "job_id": s.raw, "name": s.name},
    "state": lambda s: s.state, "exit_code": exit_of, "time": times_of,
    "nodes": lambda s: {"count": 1, "range": s.where, "list": [s.where]},
    "tasks": lambda s: {"count": 1},
}


def steps_of(job):
    from . import steps
    return [made(STEP, part) for part in steps.parts_of(job)] if job.started else []


RECORD = {
    "account": lambda j: j.account, "allocation_nodes": lambda j: 1 if j.where else 0,
    "array": lambda j: {
        "job_id": j.array or 0, "task_id": j.task, "task": None,
        "limits": {"max": {"running": {"tasks": j.data.get("array_at_once") or 0}}}},
    "association": lambda j: {"account": j.account, "cluster": jobs.CLUSTER,
                              "partition": None, "user": j.user},
    "cluster": jobs.CLUSTER,
    "comment": lambda j: {"administrator": None, "job": j.data.get("comment"),
                          "system": j.launch_fault or None},
    "constraints": "", "derived_exit_code": {"status": "SUCCESS", "return_code": 0},
    "exit_code": exit_of, "flags": [], "group": lambda j: j.group, "job_id": lambda j: j.raw,
    "kill_request_user": lambda j: j.data.get("cancelled_by_name"), "name": lambda j: j.name,
    "nodes": lambda j: j.where or "None assigned", "partition": jobs.PARTITION,
    "priority": lambda j: j.data.get("priority") or 0, "qos": lambda j: j.qos,
    "required": lambda j: {"CPUs": j.cpus, "memory": j.mib},
    "reservation": lambda j: {"id": int(j.reservation.split(",")[0] or 0),
                              "name": j.reservation or 0},
    "state": lambda j: {"current": j.state, "reason": j.reason}, "steps": steps_of,
    "time": lambda j: {**times_of(j), "submission": whole(j.data.get("submitted_at")),
                       "eligible": whole(j.data.get("submitted_at")),
                       "limit": None if j.limit is None else int(j.limit) // 60},
    "tres": lambda j: {"requested": tres_of(j), "allocated": [] if j.is_pending else tres_of(j)},
    "user": lambda j: j.user, "wckey": {"wckey": "", "flags": []},
    "working_directory": lambda j: j.directory,
}


def made(table, row):
    return {name: value(row) if callable(value) else value for name, value in table.items()}


def show(kind, table, rows, meta=META):
    print(json.dumps({"meta": meta, "errors": [], kind: [made(table, row) for row in rows]},
                     indent=2))
    return 0


def show_jobs(rows):
    return show("jobs", JOB, rows)


def show_nodes(rows):
    return show("nodes", NODE, rows)


def show_reservations(rows):
    return show("reservations", RESERVATION, rows)


def show_records(rows):
    return show("jobs", RECORD, rows, {**META, "plugin": {
        "type": "openapi/dbv0.0.38", "name": "Slurm OpenAPI DB v0.0.38"}})
