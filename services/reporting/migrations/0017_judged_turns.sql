-- Which turns people have judged, whenever: calibration asks for each of the machine's verdicts in its window.
create index feedbacks_judged on feedbacks (conversation_id, turn_id) where origin = 'user' and reaction is not null;
