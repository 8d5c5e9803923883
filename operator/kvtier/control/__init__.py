"""The only room with effects: it watches, keeps, asks the planner, writes, and elects who may."""
